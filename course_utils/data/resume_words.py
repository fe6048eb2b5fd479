"""What résumés are made of: people, cities, trades and the names of companies and colleges, all made up.

Every list is split in two. *Reserved* words never occur in a résumé made of *common* words, so that a model can be
tested on people, employers, colleges, places and most skills that it has not seen.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

Entry = TypeVar("Entry")


def _listed(text: str) -> tuple[str, ...]:
    """The entries of a text between semicolons, wherever its lines break."""
    return tuple(" ".join(entry.split()) for entry in text.split(";"))


LOCALES = _listed(
    """
    en_US; en_GB; en_IN; en_KE; en_PK; yo_NG; tw_GH; es_ES; fr_FR; de_DE; it_IT; pt_BR; nl_NL; pl_PL;
    sv_SE; tr_TR; id_ID
    """
)
"""Where people's names come from (Faker's names for countries and languages), all in Latin letters."""

NAMES_PER_LOCALE = 250


@dataclass(frozen=True)
class Trade:
    """A line of work: what people in it are called, what they can do and what they have studied."""

    roles: tuple[str, ...]
    skills: tuple[str, ...]
    subjects: tuple[str, ...]


@dataclass(frozen=True)
class Words:
    """One of the two halves.

    Attributes:
        people: for each locale, first names and last names.
        cities: a city and the region or country that may stand behind it.
        trades, general_skills, brands, duties, hobbies: what they say. A brand is the invented part of a company's name; a duty is a
            sentence without any entity, in which {n} is a number and {y} a year.
    """

    people: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    cities: tuple[tuple[str, str], ...]
    trades: tuple[Trade, ...]
    general_skills: tuple[str, ...]
    brands: tuple[str, ...]
    duties: tuple[str, ...]
    hobbies: tuple[str, ...]


@functools.cache
def words(*, reserved: bool) -> Words:
    """The common words, or the reserved ones."""
    return Words(
        people=_people(reserved),
        cities=_half(_cities(), reserved),
        trades=tuple(
            Trade(_half(trade.roles, reserved), _half(trade.skills, reserved), trade.subjects)
            for trade in TRADES
        ),
        general_skills=_half(GENERAL_SKILLS, reserved),
        brands=_half((begin + end for begin in BRAND_BEGINS for end in BRAND_ENDS), reserved),
        duties=_half(DUTIES, reserved),
        hobbies=_half(HOBBIES, reserved),
    )


def _half(entries: Iterable[Entry], reserved: bool) -> tuple[Entry, ...]:
    """Every fourth entry is reserved."""
    return tuple(entry for i, entry in enumerate(entries) if (i % 4 == 3) == reserved)


def _people(reserved: bool) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    drawn = _drawn_names()
    # Maria is a name in many languages: she is common in all of them, or reserved in all.
    mine = [
        set(_half(sorted({name for names in drawn for name in names[part]}), reserved)) for part in (0, 1)
    ]
    return tuple(
        tuple(tuple(name for name in names[part] if name in mine[part]) for part in (0, 1)) for names in drawn
    )


@functools.cache
def _drawn_names() -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """For each locale, first and last names, each once."""
    from faker import Faker

    drawn = []
    for locale in LOCALES:
        source = Faker(locale)
        source.seed_instance(locale)
        drawn.append(
            tuple(
                tuple(dict.fromkeys(draw() for _ in range(NAMES_PER_LOCALE)))
                for draw in (source.first_name, source.last_name)
            )
        )
    return tuple(drawn)


@functools.cache
def _cities() -> tuple[tuple[str, str], ...]:
    """The large cities below, and small towns of some countries."""
    from faker import Faker

    cities = dict(LARGE_CITIES)
    for locale, country in TOWNS.items():
        source = Faker(locale)
        source.seed_instance(locale)
        for town in (source.city() for _ in range(TOWNS_PER_LOCALE)):
            if len(town) <= 20 and all(letter.isalpha() or letter in " -" for letter in town):
                cities.setdefault(town, country)
    return tuple(cities.items())


TOWNS = {  # not it_IT, whose towns Faker keeps in a set: their order is another one in each process
    "en_IN": "India",
    "de_DE": "Germany",
    "nl_NL": "Netherlands",
    "pl_PL": "Poland",
    "es_ES": "Spain",
    "id_ID": "Indonesia",
    "sv_SE": "Sweden",
    "en_US": "USA",
}
TOWNS_PER_LOCALE = 30

LARGE_CITIES = tuple(
    tuple(entry.split(" = "))
    for entry in _listed(
        """
        Pune = India; Austin = TX; Berlin = Germany; Lyon = France; Nairobi = Kenya; Leeds = UK; Toronto
        = Canada; Lahore = Pakistan; Seville = Spain; Chennai = India; Denver = Colorado; Gdansk =
        Poland; Accra = Ghana; Turin = Italy; Bristol = England; Ankara = Turkey; Jakarta = Indonesia;
        Boston = MA; Hyderabad = Telangana; Hamburg = Germany; Porto = Portugal; Lagos = Nigeria;
        Utrecht = Netherlands; Chicago = IL; Malmö = Sweden; Bengaluru = Karnataka; Glasgow = Scotland;
        Recife = Brazil; Portland = Oregon; Vienna = Austria; Mombasa = Kenya; Nantes = France; Dallas =
        TX; Kolkata = India; Bologna = Italy; Dublin = Ireland; Seattle = Washington; Krakow = Poland;
        Ibadan = Nigeria; Valencia = Spain; Cardiff = Wales; Atlanta = GA; Munich = Bavaria; Karachi =
        Pakistan; Izmir = Turkey; Nagpur = Maharashtra; Montreal = Quebec; Kumasi = Ghana; Marseille =
        France; Phoenix = AZ; Rotterdam = Netherlands; Bandung = Indonesia; Manchester = UK; Curitiba =
        Brazil; Jaipur = Rajasthan; Oslo = Norway; San Diego = California; New Delhi = India; Sheffield
        = England; Bilbao = Spain; Zurich = Switzerland; Kansas City = MO; Surabaya = Indonesia;
        Stuttgart = Germany; Cape Town = South Africa; Ottawa = Ontario; Islamabad = Pakistan; Lisbon =
        Portugal; Salt Lake City = Utah; Brussels = Belgium; Kisumu = Kenya; Florence = Italy;
        Coimbatore = Tamil Nadu; Cambridge = UK; Tampa = FL; Prague = Czech Republic; Singapore =
        Singapore; Abuja = Nigeria; Gothenburg = Sweden; Tokyo = Japan; Belfast = Northern Ireland;
        Indore = India; Sydney = NSW; Wroclaw = Poland; Houston = Texas; Bordeaux = France; Sao Paulo =
        Brazil; Melbourne = Australia; Ahmedabad = Gujarat; Columbus = Ohio; Budapest = Hungary; Dubai =
        UAE; Auckland = New Zealand; Antwerp = Belgium; Nashville = Tennessee; Granada = Spain; Kochi =
        Kerala; Helsinki = Finland; Vancouver = BC; Liverpool = UK
        """
    )
)
"""Cities and what may stand behind them."""

TRADES = (
    Trade(
        roles=_listed(
            """
            Software Engineer; Backend Developer; Java Developer; QA Engineer; Full Stack Developer;
            DevOps Engineer; System Administrator; Solutions Architect; Web Developer; Mobile App
            Developer; Network Engineer; Frontend Developer
            """
        ),
        skills=_listed(
            """
            Python; Java; C++; Ruby on Rails; JavaScript; Node.js; unit testing; Kubernetes; React;
            Spring Boot; REST APIs; Terraform; Docker; Git; Amazon Web Services; PostgreSQL; Linux; C#;
            shell scripting; continuous integration; MongoDB; Django; object-oriented design; GraphQL;
            TypeScript; Angular; network security; Scala; test-driven development; Go; front-end development; code review; Azure; Redis; event-driven architecture; penetration testing; Jenkins; Swift; back-end development; Ansible
            """
        ),
        subjects=_listed(
            """
            Computer Science; Information Technology; Software Engineering; Computer Applications
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            Data Scientist; Data Analyst; Machine Learning Engineer; Business Intelligence Developer;
            Data Engineer; Research Scientist; Statistician; Database Administrator; Quantitative
            Analyst
            """
        ),
        skills=_listed(
            """
            SQL; machine learning; Tableau; time series forecasting; R; pandas; deep learning; Apache
            Spark; natural language processing; Power BI; statistical modelling; scikit-learn;
            TensorFlow; data visualization; A/B testing; Hadoop; PyTorch; data warehousing; web
            scraping; feature engineering; Airflow; computer vision; SAS; MATLAB; data cleaning; dbt; Snowflake; k-means clustering; Bayesian inference; survey design; Looker; linear regression; real-time analytics; data governance; BigQuery; Kafka
            """
        ),
        subjects=_listed(
            """
            Statistics; Data Science; Applied Mathematics; Physics
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            Accountant; Financial Analyst; Auditor; Credit Risk Analyst; Tax Consultant; Payroll
            Specialist; Branch Manager; Treasury Manager; Investment Analyst; Bookkeeper; Finance
            Controller; Loan Officer
            """
        ),
        skills=_listed(
            """
            financial modelling; bookkeeping; SAP; accounts payable; budgeting; Microsoft Excel; IFRS;
            internal audit; tax planning; QuickBooks; cash flow forecasting; variance analysis; payroll;
            risk management; Tally; Bloomberg Terminal; cost accounting; bank reconciliation; US GAAP;
            portfolio management; Xero; double-entry bookkeeping; credit scoring; fixed-asset accounting; VBA; anti-money laundering; due diligence; budget control
            """
        ),
        subjects=_listed(
            """
            Accounting; Finance; Economics; Commerce
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            Marketing Manager; Content Writer; SEO Specialist; Brand Manager; Social Media Manager;
            Public Relations Officer; Market Researcher; Copywriter; Sales Executive; Account Manager;
            Event Coordinator; Business Development Manager
            """
        ),
        skills=_listed(
            """
            Google Analytics; copywriting; search engine optimization; email marketing; market research;
            Salesforce; content strategy; lead generation; brand management; HubSpot; public speaking;
            pay-per-click advertising; negotiation; WordPress; social media marketing; media planning;
            event planning; cold calling; Mailchimp; storytelling; Canva; direct-response copy; influencer marketing; Google Ads; e-commerce; press releases; cross-selling; customer segmentation
            """
        ),
        subjects=_listed(
            """
            Marketing; Journalism; Mass Communication; Business Administration
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            HR Manager; Recruiter; Talent Acquisition Specialist; Training Coordinator; Office Manager;
            Executive Assistant; HR Business Partner; Receptionist; Administrative Assistant
            """
        ),
        skills=_listed(
            """
            talent acquisition; onboarding; employee relations; performance management; labour law;
            Workday; conflict resolution; payroll administration; interviewing; calendar management;
            succession planning; job evaluation; Microsoft Office; data entry; team building; minute
            taking; SuccessFactors; exit interviews; compensation and benefits; on-the-job training; diversity and inclusion; BambooHR; travel booking; record-keeping
            """
        ),
        subjects=_listed(
            """
            Human Resource Management; Psychology; Sociology; Organisational Behaviour
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            Registered Nurse; Pharmacist; Physiotherapist; Radiographer; Laboratory Technician; Clinical
            Research Associate; Midwife; Dental Hygienist; Occupational Therapist; Ward Sister;
            Nutritionist; Paramedic
            """
        ),
        skills=_listed(
            """
            patient care; phlebotomy; wound care; infection control; first aid; medication
            administration; clinical trials; electronic health records; triage; intensive care;
            geriatric care; CPR; case management; health education; ultrasound; vital signs monitoring; blood transfusion; post-operative care; palliative care; Epic; dosage calculation; x-ray imaging; patient education; hand hygiene
            """
        ),
        subjects=_listed(
            """
            Nursing; Pharmacy; Physiotherapy; Public Health
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            Mechanical Engineer; Civil Engineer; Site Engineer; Electrical Engineer; Quality Inspector;
            Design Engineer; Maintenance Technician; Structural Engineer; Process Engineer; Welding
            Supervisor; Production Manager; Safety Officer
            """
        ),
        skills=_listed(
            """
            AutoCAD; SolidWorks; finite element analysis; PLC programming; lean manufacturing; Six
            Sigma; quality control; preventive maintenance; project scheduling; surveying; CNC
            machining; Revit; structural analysis; welding; root cause analysis; thermodynamics; circuit
            design; site supervision; HVAC; quantity surveying; ANSYS; 3D printing; failure mode analysis; CATIA; soil testing; load-bearing calculations; MATLAB Simulink; steel construction
            """
        ),
        subjects=_listed(
            """
            Mechanical Engineering; Civil Engineering; Electrical Engineering; Production Engineering
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            Mathematics Teacher; Lecturer; Teaching Assistant; Curriculum Developer; School Librarian;
            Assistant Professor; Academic Advisor; Special Education Teacher; Kindergarten Teacher;
            Language Instructor; Research Assistant; Head Teacher
            """
        ),
        skills=_listed(
            """
            lesson planning; classroom management; curriculum design; student assessment; e-learning;
            academic writing; Moodle; grant writing; educational psychology; mentoring; differentiated
            instruction; phonics; parent communication; public lectures; qualitative research;
            cataloguing; Google Classroom; peer tutoring; inquiry-based learning; exam preparation; special needs support; literature review; Zotero; co-teaching
            """
        ),
        subjects=_listed(
            """
            Education; Mathematics; English Literature; History
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            Graphic Designer; UX Designer; Art Director; Interior Designer; Illustrator; Video Editor;
            Photographer; Motion Designer; Product Designer; Architect; Fashion Designer; Game Artist
            """
        ),
        skills=_listed(
            """
            Adobe Photoshop; typography; Figma; wireframing; user research; InDesign; motion graphics;
            3D modelling; prototyping; Sketch; usability testing; colour theory; Final Cut Pro;
            branding; storyboarding; Blender; HTML; CSS; photo retouching; print production; Adobe Illustrator; hand-lettering; design systems; After Effects; mock-ups; screen printing; Cinema 4D; visual storytelling
            """
        ),
        subjects=_listed(
            """
            Graphic Design; Fine Arts; Architecture; Visual Communication
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            Supply Chain Analyst; Warehouse Supervisor; Project Manager; Procurement Officer; Operations
            Manager; Store Manager; Logistics Coordinator; Customer Service Representative; Fleet
            Manager; Business Analyst; Import Specialist; Inventory Planner
            """
        ),
        skills=_listed(
            """
            inventory management; vendor management; demand planning; Oracle ERP; project management;
            contract negotiation; Scrum; route optimization; customer service; forklift operation;
            process improvement; stakeholder management; cash handling; Jira; import and export; order
            fulfilment; cost reduction; requirements analysis; SAP MM; shift planning; Kanban; last-mile delivery; customs clearance; NetSuite; make-or-buy analysis; barcode scanning; supplier audits; pick-and-pack
            """
        ),
        subjects=_listed(
            """
            Supply Chain Management; Operations Management; Industrial Engineering; Logistics
            """
        ),
    ),
    Trade(
        roles=_listed(
            """
            Chef; Hotel Manager; Front Desk Agent; Pastry Chef; Restaurant Manager; Tour Guide; Flight
            Attendant; Housekeeping Supervisor; Barista
            """
        ),
        skills=_listed(
            """
            menu planning; food safety; table service; wine knowledge; guest relations; reservation
            systems; barista skills; cost control; staff training; banquet service; HACCP; upselling;
            pastry making; complaint handling; housekeeping; Opera PMS; event catering; check-in procedures; revenue management; Micros; allergen handling; front-of-house service; cocktail making; room inspection
            """
        ),
        subjects=_listed(
            """
            Hotel Management; Tourism; Culinary Arts; Hospitality
            """
        ),
    ),
)

GENERAL_SKILLS = _listed(
    """
    communication; teamwork; time management; critical thinking; problem-solving; leadership; decision-making;
    Microsoft Word; PowerPoint; attention to detail; multi-tasking; adaptability; coaching; intercultural competence;
    self-management; presentation skills; research; report writing; data protection; event organisation;
    troubleshooting; touch typing; foreign languages; mediation
    """
)

BRAND_BEGINS = _listed(
    """
    Blue; North; Bright; Quant; Terra; Nova; Silver; Iron; Clear; Green; Sky; Data; Cloud; True; Swift; Luma; Vera;
    Orbi; Zen; Alto; Acu; Kes; Mar; Bel; Tor; Vin
    """
)
BRAND_ENDS = _listed(
    """
    peak; bridge; field; stone; wave; gate; works; path; line; leaf; mind; sys; nest; ia; ora; tec; don; ix; ello
    """
)

SECTORS = _listed(
    """
    Analytics; Systems; Software; Consulting; Logistics; Health; Foods; Media; Energy; Pharma; Retail;
    Motors; Insurance; Solutions; Technologies; Group; Labs; Partners; Construction; Services; Hotels;
    Bank
    """
)
LEGAL_FORMS = _listed(
    """
    Ltd; Inc; GmbH; LLC; Pvt Ltd; plc; AG; Corporation
    """
)

DUTIES = (
    "Led a team of {n} people and reported to the board.",
    "Cut costs by {n} % within a year.",
    "Introduced a new reporting process in {y}.",
    "Looked after {n} clients in three regions.",
    "Prepared weekly reports for the management.",
    "Won the award for best employee of {y}.",
    "Trained {n} new colleagues.",
    "Planned and ran the yearly customer survey.",
    "Responsible for the daily business of the department.",
    "Moved {n} users to a new platform.",
    "Reduced complaints by {n} %.",
    "Worked closely with suppliers and partners.",
    "Member of the works council since {y}.",
    "Took over the largest account of the branch.",
    "Wrote the handbook that all branches use today.",
    "Opened a second office in {y}.",
    "Handled a budget of {n} million.",
    "Coordinated a project with {n} participants.",
    "Raised satisfaction from {n} to 71 %.",
    "Represented the team at trade fairs.",
    "Checked and approved all documents before release.",
    "Kept the records and answered enquiries.",
    "Supervised interns and apprentices.",
    "Set up a night shift with {n} people.",
)

HOBBIES = _listed(
    """
    chess; hiking; playing the violin; amateur theatre; cricket; baking; photography; volunteering;
    long-distance running; gardening; science fiction; sailing
    """
)
