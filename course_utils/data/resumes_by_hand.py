"""Thirty résumés, and texts like résumés, that no template wrote: the last test of the entities lab.

They were written one by one, by people's habits and not by rules: lists without headings, half sentences, bad line breaks, lower case,
a cover letter, a note by a recruiter. The people do not exist, and addresses end in domains that nobody can own (RFC 2606). What
belongs to an entity is what docs/data-entities.md says. Nothing was ever chosen by looking at the scores on these texts.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from course_utils.data.entities import Entity, EntityExample

_SHORT = {
    "N": "Name",
    "E": "Email",
    "D": "Designation",
    "W": "Companies worked at",
    "C": "College",
    "G": "Degree",
    "Y": "Graduation year",
    "L": "Location",
    "S": "Skills",
    "X": "Years of experience",
}
COOKS_LIST = Path(__file__).with_name("cooks_list.json")
_MARKED = re.compile(r"\[([^\[\]]+)\]([NEDWCGYLSX])")


def resumes_by_hand() -> tuple[EntityExample, ...]:
    """The texts with their entities, exact and in the order of the text."""
    return tuple(map(_read, _TEXTS.strip("\n").split("\n====\n")))


def cooks_list() -> tuple[EntityExample, list[Entity]]:
    """The fourth of the texts, and what the model that comes with the course finds in it: lab 09 shows it before anybody has a model."""
    return resumes_by_hand()[3], [Entity(*one) for one in json.loads(COOKS_LIST.read_text("utf-8"))]


def _read(marked: str) -> EntityExample:
    text, entities, at = "", [], 0
    for found in _MARKED.finditer(marked):
        text += marked[at : found.start()]
        entities.append(Entity(len(text), len(text) + len(found[1]), _SHORT[found[2]]))
        text += found[1]
        at = found.end()
    return EntityExample(text + marked[at:], tuple(entities))


# [text]X marks an entity; the letters stand above. Tabs and line breaks are part of the texts.
_TEXTS = """
[Ingrid Halvorsen]N
[Marine biologist]D, currently at the [Bergen Aquarium]W

I have spent [nine years]X between boats and laboratories. Most of my days go into plankton counts, [R]S and, more than I like,
[grant writing]S. Before Bergen I was a [field assistant]D for [NordHav Consulting AS]W.

[University of Tromsø]C, [MSc in Marine Ecology]G ([2013]Y)
Reach me at [ingrid@halvorsen.example]E
====
RESUME
[Tobias Okonkwo-Reyes]N // [Lagos, Nigeria]L // [t.okonkwo@reyes.example.com]E

WHAT I DO
[Kotlin]S . [Jetpack Compose]S . [Gradle]S . a bit of [Swift]S

WHERE I DID IT
2021-now   [Paystream Ltd]W, [Android engineer]D
2018-21    [Android engineer]D at a start-up that no longer exists ([Kobo Labs]W)

SCHOOL
[B.Sc. Computer Engineering]G / [Covenant Polytechnic]C / class of [2017]Y
====
Dear Ms Abernathy,

your advertisement for a theatre nurse reached me through a colleague. My name is [Rosalind Achterberg]N; since 2016 I have worked as a
[theatre nurse]D at [St. Columba Hospital]W in [Utrecht]L, mostly orthopaedics. I trained at [Hogeschool Zuiderdam]C, where I received my
[Bachelor of Nursing]G in [2015]Y.

I am at home with [instrument preparation]S, [patient positioning]S and [wound care]S, and I speak Dutch and English.

With kind regards
[Rosalind Achterberg]N
[r.achterberg@post.example.net]E
====
[jamal whitcombe]N
[line cook]D -> [sous chef]D -> [head chef]D
[the copper kettle]W (now), [brasserie lumen]W, [hotel meridian]W
[14 years]X in kitchens
good at: [menu planning]S, [food costing]S, [staff rotas]S
no degree. [diploma in culinary arts]G, [leith college]C, [2008]Y
[jamal@whitcombe.example]E
====
Name\t[Prisca Wanjiru]N
Born\t12 March 1991
Lives in\t[Nakuru, Kenya]L
Mail\t[prisca.wanjiru@inbox.example.org]E
Last job\t[Warehouse Supervisor]D
With\t[Rift Valley Logistics]W
From - to\t2017 - 2024
Trained as\t[Diploma in Supply Chain Management]G
At\t[Nakuru Technical Institute]C
In\t[2012]Y
Can\t[stock control]S, [forklift operation]S, [SAP]S
====
Recruiter's note, Tuesday. Spoke to [Matteo Ferragutti]N for half an hour. [Data engineer]D, [7 years]X, five of them at [Banca Lariana]W
in [Como]L. Strong in [Spark]S and [dbt]S, learning [Terraform]S. Left [Gruppo Altavilla S.p.A.]W after a merger. Has a [master's degree in
statistics]G from [Politecnico di Valtellina]C, finished [2016]Y. Wants to stay near Milan. Mail: [matteo.f@ferragutti.example.com]E.
====
[Yuki Tanabe-Lindqvist]N, [CPA]G
[Senior Auditor]D

[Holloway & Strand LLP]W
[Gothenburg]L | Oct 2019 to date
Led audits of eleven municipal companies. Wrote the office's guide to [IFRS 16]S.

[Kitagawa Accounting]W
[Osaka]L | 2014 to 2019
[Junior Auditor]D, later [Auditor]D.

[BA Economics]G, [Kansai Women's College]C, [2013]Y
[yuki@tanabe.example.net]E
====
I drive trams. Have done for [twenty-two years]X, first in [Linz]L for [LinzBim Betriebe]W and since 2011 here in [Graz]L for
[Steirische Verkehrs AG]W. My name is [Gottfried Pichlmayr]N. I also teach: as [driving instructor]D I train six people a year, and I know
[timetable planning]S and [conflict de-escalation]S better than most. School: [HTL Linz-Süd]C, [1998]Y. [gottfried@pichlmayr.example]E
====
PROFILE
Results-driven [product manager]D with [8+ years]X of experience in consumer hardware.

HISTORY
[Product Manager]D
[Lumenwerk GmbH]W, [Stuttgart]L (2020-present)
* Cut returns by a third

[Associate Product Manager]D
[Tinsel Audio Inc.]W, [Portland, Oregon]L (2016-2020)
* Launched four speakers

LEARNING
[MBA]G, [Black Forest Business School]C, [2020]Y
[B.A. in Psychology]G, [Linfield Memorial College]C, [2015]Y

TOOLBOX
[Figma]S, [Jira]S, [SQL]S, [user interviews]S

[Annelie Brockhaus]N - [annelie.brockhaus@mail.example]E
====
hi! [Oluwaseun]N here ([Oluwaseun Bamgbose]N on paper). looking for a role as [ux writer]D or [content designer]D. was at [Fernweh Travel]W till
march, before that freelance. i know [figma]S, [plain language]S, [a/b testing]S. [ba english literature]G from [university of ibadan]C
([2019]Y). based in [berlin]L. [hello@bamgbose.example.org]E
====
CURRICULUM VITAE
of
[DR. HENRIETTA VAN DER SPUY]N

Present position: [ASSOCIATE PROFESSOR]D, Department of Geology
Employer: [CAPE PENINSULA RESEARCH COUNCIL]W
Qualifications: [PHD IN GEOCHEMISTRY]G, [UNIVERSITY OF GRAAFF-REINET]C, [2006]Y
[MSC (CUM LAUDE) GEOLOGY]G, same university, [2001]Y
Techniques: [ICP-MS]S, [X-RAY FLUORESCENCE]S, [THIN SECTIONS]S
Town: [STELLENBOSCH]L
====
Candidate 14
Current role: [Payroll clerk]D
Current employer: [Moorside Borough Council]W
In post since: February 2015
Previous employer(s): [Dunmore Textiles]W; [Jessop & Daughters]W
Total experience: [16 yrs]X
Software: [Sage]S; [Excel]S; [Oracle HCM]S
Highest award: [HNC in Business Administration]G, [Calder Vale College]C, year [2009]Y
Contact (confidential): [patricia.lomax@moorside.example]E
Signed: [Patricia Lomax]N, [Huddersfield]L
====
[Farida Mansouri]N ([Algiers]L, [farida@mansouri.example.com]E) builds bridges, literally: she is a [structural engineer]D at [Pont & Fils]W
and was a [site engineer]D with [Groupe Sahel Construction]W from 2012 until 2018. She studied at the [École Supérieure de Béjaïa]C and
graduated in [2011]Y with an [ingénieur d'état in civil engineering]G. She works with [Tekla Structures]S and [finite element analysis]S.
====
Experience: [3 years]X. Position sought: [junior electrician]D.
Worked for: my uncle ([Sandoval Electrical Services]W), [Tucson]L, Arizona.
Certificates: [Associate Degree in Electrical Technology]G, [Pima Valley Community College]C, [2021]Y.
I can do [conduit bending]S, [panel wiring]S, and read [blueprints]S.
[Mateo Sandoval Jr.]N
[mateo.sandoval@sandoval.example]E
====
2024  [Principal Scientist]D, [Helixia Therapeutics]W, [Basel]L
2019  [Senior Scientist]D, [Helixia Therapeutics]W
2016  postdoc, [Institut Fontanelle]W, [Lyon]L
[2015]Y  [PhD Biochemistry]G, [University of Debrecen]C
[2010]Y  [MSc Chemistry]G, [University of Debrecen]C

[Zsófia Keresztes]N
[zs.keresztes@helixia.example.net]E
[CRISPR]S | [flow cytometry]S | [Python]S | [mouse models]S
====
A short word about me for the conference page: [Kwabena Asante-Boateng]N is [Head of Platform]D at [Zuri Mobile Money]W in [Accra]L. Over
[twelve years]X he has moved three banks to [Kubernetes]S. Before, he wrote [COBOL]S at [Gold Coast Savings]W and regrets nothing. He has a
[B.Sc. in Mathematics]G from [Kumasi Institute of Science]C.
====
Teresa's file
- full name: [Teresa Quintanilha]N
- job: [primary school teacher]D, year 4, [Escola Básica do Carmo]W, [Faro]L
- before: [Colégio Atlântico]W (2009-2015)
- studied: [licenciatura em educação básica]G, [Universidade do Sotavento]C, done in [2008]Y
- strong points: [classroom management]S, [special needs support]S, [Scratch]S
- e: [teresa.q@quintanilha.example]E
====
To whom it may concern: [Bartholomew Finch]N was employed by [Wexcombe Orchards Ltd]W as [orchard manager]D from April 2010 to June 2022. He
came to us from [Brogdale Fruit Trust]W with [five years]X of experience and a [National Diploma in Horticulture]G ([Hadlow Vale College]C,
[2005]Y). His [pruning]S and [integrated pest management]S were exemplary. [Wexcombe, Kent]L, 30 June 2022
====
[Nguyễn Thị Hương]N
[Đà Nẵng]L · [huong.nguyen@post.example]E

[QA lead]D – [Sông Hàn Software JSC]W – 2019 → today
[Tester]D – [Pixelroot Vietnam]W – 2015 → 2019

[Selenium]S, [Playwright]S, [TestRail]S, [exploratory testing]S
[Engineer's degree in Information Systems]G – [Đà Nẵng Polytechnic]C – [2014]Y
====
I hold a [BEng (Hons) in Naval Architecture]G ([Clydebank University]C, [2004]Y) and an [MBA]G ([Strathallan Business School]C, [2012]Y). For the
last [10 years]X I have run the design office of [Ferguson Marlowe Shipbuilders]W in [Greenock]L as [chief designer]D; my drawings began life in
[AutoCAD]S and now live in [Rhino]S. Yours, [Euan Galbraith]N. ([euan@galbraith.example.org]E)
====
SKILLS: [carpentry]S; [roof framing]S; [scaffolding]S; [first aid]S
JOBS: [Foreman]D, [Baltic Timber Homes OÜ]W, [Tartu]L, 2018 on; [Carpenter]D, [Puusepad]W, 2009-2018
PAPERS: [Vocational Certificate in Carpentry]G, [Tartu Vocational School]C, [2009]Y
WHO: [Rasmus Kask]N, [rasmus@kask.example]E
====
Q: Who are you?
A: [Leilani Kahananui]N, [events coordinator]D.
Q: Where do you work?
A: At [Pacific Lantern Resorts]W, on [Maui, Hawaii]L. I was an [intern]D at [Hilo Convention Bureau]W before.
Q: And you studied?
A: [Hospitality management]G, [College of the Islands]C. I finished in [2018]Y.
Q: What are you best at?
A: [Budgeting]S, [vendor negotiation]S, staying calm. Write to [leilani@kahananui.example.com]E.
====
[Dmitri Vasilenko]N | [Security Analyst II]D | [Tallinn]L
[OSCP]S, [Splunk]S, [Wireshark]S, [incident response]S
Employer now: [Kaitse Cyber OÜ]W (since 08/2021). Employers then: [Vasar Telecom]W 2017-21, [Narva Power]W 2015-17.
Education: [MSc Cybersecurity]G [2017]Y and [BSc Informatics]G [2015]Y, both [Tallinn Bay University]C
[dmitri.vasilenko@kaitse.example]E
====
My grandmother sewed, my mother sewed, and I, [Consuelo Baptista]N, am a [pattern maker]D. [Atelier Nove]W in [Porto]L employs me since 2013.
[Gerber AccuMark]S and [draping]S are my tools. I learned at [Escola de Moda do Norte]C; the paper says [Technical Diploma in Fashion Design]G, [2012]Y.
====
Applicant #0093
[Harpreet Dhaliwal]N
[Truck dispatcher]D ([Fraser Valley Haulage]W, 2020 - )
[Driver]D ([Fraser Valley Haulage]W, 2012 - 2020)
[13 years]X on and around trucks
Class 1 licence, [route optimisation]S, [Samsara]S, [hours-of-service rules]S
[Abbotsford]L, British Columbia
[h.dhaliwal@fraser.example.net]E
====
[Solveig Aasen]N's notes for the interview:
1. say that the [Nordlys Festival]W job was as [stage manager]D, not volunteer
2. mention [QLab]S and [rigging]S
3. [bachelor in technical theatre]G, [Oslo Stage Academy]C, [2020]Y
4. ask about moving from [Trondheim]L
5. leave [solveig.aasen@inbox.example]E with the receptionist
====
Librarian wanted? Here I am. [Abimbola Crowther]N, [reference librarian]D at [Freetown City Library]W for [six years]X, [cataloguer]D at
[Njala Archive Trust]W before. [MLIS]G, [Fourah Hill University]C, [2017]Y. [MARC 21]S, [Koha]S, [oral history interviewing]S.
[abimbola@crowther.example.org]E, [Freetown]L.
====
Personal
  [Wei-Ling Drummond]N, [Singapore]L
Work
  [Actuary]D with [Merlion Mutual]W, [4.5 years]X
  [Actuarial analyst]D with [Sentosa Re]W
Study
  [BSc (Hons) Actuarial Science]G, [Straits University]C, [2018]Y
Other
  [VBA]S, [R]S, [pricing models]S
  piano, bouldering
  [weiling@drummond.example]E
====
Good afternoon, I would like to apply as [beekeeper]D. At [Imkerei Sonnleitner]W I looked after ninety hives, at [Wiener Stadtgärten]W
thirty. I finished [Francisco-Hof College]C in [2014]Y with a [certificate in apiculture]G. [Queen rearing]S and [varroa control]S are what I do
best. [Ulrike Stadlober]N, [Wiener Neustadt]L, [ulrike@stadlober.example.com]E
====
[Chidi Eze]N
[Full-stack developer]D
[Enugu]L. Remote for [Brightwater Health]W ([Toronto]L) since 2022.
Stack: [TypeScript]S, [React]S, [Postgres]S, [GraphQL]S.
Self-taught; [two years]X as [technical support agent]D at [Zenlink]W paid for the laptop.
No university. One [Certificate in Web Development]G, [Andela Row Academy]C, [2020]Y.
[chidi@eze.example.net]E
"""
