#!/usr/bin/env bash
# Sets up JupyterHub for a class on this machine (Debian or Ubuntu). Run it again after any change: it brings
# everything into the described state. People who are on no list any more cannot log in; accounts and homes stay.
# shellcheck source-path=SCRIPTDIR source=common.sh
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
. "$here/common.sh"

usage() {
  cat <<'TEXT'
sudo deploy/jupyterhub/setup.sh --course DIR --instructors NAME[,NAME...] --learners FILE [OPTION...]

  --course DIR         the project, a copy for this class: it will belong to the account grader-ID
  --instructors NAMES  login names of those who teach and grade: they may open formgrader
  --learners FILE      login names of the learners, one a line; # begins a comment
  --id ID              the course's name on the hub and in the exchange (default: transformer-labs)
  --settings-only      leave the environments as they are: for new learners or instructors (seconds)
  --prefix DIR         where the hub is installed (default: /opt/transformer-hub)
  --exchange DIR       nbgrader's exchange (default: /srv/nbgrader/exchange)
  --subdomains URL     the hub's address, https://hub.example.org: below it, each user and each course gets an origin of their own. It stays
                       until another one is given, or none (docs/jupyterhub.md says what it needs)
TEXT
}

address=http://127.0.0.1:800 # jupyterhub_config.py says so
course="" instructors="" learners="" id=transformer-labs environments=yes subdomains=""
while [ $# -gt 0 ]; do
  case $1 in --settings-only | --help) ;; *) [ -n "${2:-}" ] || stop "$1 needs a value: see --help." ;; esac
  case $1 in
    --course) course=$2 && shift 2 ;;
    --instructors) instructors=$2 && shift 2 ;;
    --learners) learners=$2 && shift 2 ;;
    --id) id=$2 && shift 2 ;;
    --prefix) prefix=$2 && shift 2 ;;
    --exchange) exchange=$2 && shift 2 ;;
    --subdomains) subdomains=${2%/} && shift 2 ;;
    --settings-only) environments=no && shift ;;
    --help) usage && exit ;;
    *) stop "$1 is no option of this script: see --help." ;;
  esac
done

# Everything is checked before anything is changed.
if [ -z "$course" ] || [ -z "$instructors" ] || [ -z "$learners" ]; then usage >&2; exit 2; fi
need_root
{ [ -f "$course/nbgrader_config.py" ] && [ -d "$course/solutions" ]; } ||
  stop "$course is not the course's project: give the folder that holds solutions/ and nbgrader_config.py with --course."
course=$(CDPATH='' cd -- "$course" && pwd -P)
prefix=$(realpath -m -- "$prefix") exchange=$(realpath -m -- "$exchange") # settings that other programs read name them
[ -r "$learners" ] || stop "the list of learners, $learners, cannot be read: give a text file with one login name a line."
[[ $id =~ ^[a-z][a-z0-9-]{0,24}$ ]] || stop "the id '$id' cannot name an account: use up to 25 small letters, digits and hyphens."
[[ $subdomains =~ ^(none|https://[a-z0-9.-]+(:[0-9]+)?)?$ ]] ||
  stop "the address '$subdomains' cannot have subdomains: write it as https://hub.example.org, in small letters, or none."
usable() { # an account that is there already must be a person's, because its home will be closed to others
  local number home
  [[ $1 != grader-* ]] || stop "'$1' ($2) begins with grader-, as the accounts do that courses belong to. Nothing was changed: choose another name."
  number=$(id -u "$1" 2>/dev/null) || return 0
  # Debian keeps 0 to 999 and 60000 to 65535 for itself; greater numbers come from a university's directory.
  if [ "$number" -lt 1000 ] || { [ "$number" -ge 60000 ] && [ "$number" -le 65535 ]; }; then
    stop "'$1' ($2) is an account of the system itself (number $number). Nothing was changed: choose another name."
  fi
  home=$(getent passwd "$1" | cut -d: -f6)
  [ "$(stat -c %u "$home" 2>/dev/null)" = "$number" ] ||
    stop "'$1' ($2) has an account, but no home of its own: $home is missing or belongs to somebody else. Nothing was changed."
}
names() { # one valid login name a line
  trap - ERR
  local name
  while read -r name; do
    [[ $name =~ ^[a-z_][a-z0-9_-]{0,31}$ ]] ||
      stop "'$name' ($1) cannot be a login name: use small letters, digits, - and _, beginning with a letter. Nothing was changed."
    usable "$name" "$1"
    say "$name"
  done
}
teaching=$(tr ',' '\n' <<<"$instructors" | sed '/^$/d' | names "--instructors") || exit 1
learning=$(sed -e 's/#.*//' -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$learners" | names "$learners") || exit 1
both=$(comm -12 <(sort -u <<<"$teaching") <(sort -u <<<"$learning"))
[ -z "$both" ] || stop "both instructor and learner: ${both//$'\n'/, }. Nothing was changed: take these names off one of the lists."
closed=$(dirname "$course")
while [ "$closed" != / ]; do
  [ $((0$(stat -c %a "$closed") & 1)) = 1 ] || stop "$course lies in $closed, which is closed to other accounts: move the project, to /srv for example."
  closed=$(dirname "$closed")
done

umask 022
grader=grader-$id
state=$prefix/state
if [ "$environments" = yes ]; then
  "$here/environments.sh" "$course" "$prefix"
else
  say "The environments stay as they are."
fi

install -d -m 711 "$prefix" "$prefix/courses" "$prefix/sockets"
install -d -m 700 "$state"
touch "$state/accounts" "$state/passwords"
chmod 600 "$state/accounts" "$state/passwords"

account() { # a login that did not exist gets a random password, kept for root alone
  local password
  if ! id "$1" >/dev/null 2>&1; then
    useradd --create-home --shell /bin/bash "$1"
    say "$1" >>"$state/accounts"
    if [ "$1" != "$grader" ]; then # nobody logs in as the grading account
      password=$(od -An -N9 -tx1 /dev/urandom | tr -d ' \n')
      chpasswd <<<"$1:$password"
      say "$1 $password" >>"$state/passwords"
    fi
    made=$((made + 1))
  fi
  chmod 700 "$(getent passwd "$1" | cut -d: -f6)"
}
made=0
account "$grader"
for name in $teaching $learning; do account "$name"; done
install -d -m 700 -o "$grader" -g "$grader" "$prefix/sockets/$id" # the course's service listens there
say "Accounts: $(wc -w <<<"$teaching") instructors, $(wc -w <<<"$learning") learners; $made new (first passwords: $state/passwords); homes 0700."

# The sticky bit keeps learners from renaming one another's files; nbgrader leaves it out of inbound. Both folders
# are made first and belong to the grading account, so that nobody can put others in their place. The set-group-ID bit
# gives its group to what learners hand in, so that they need not open that to everybody (learner/closed_exchange.py).
install -d -m 755 "$(dirname "$exchange")"
install -d -m 1777 "$exchange"
for folder in "$exchange/$id:0755" "$exchange/$id/inbound:3733" "$exchange/$id/outbound:0755" "$exchange/$id/feedback:0711"; do
  install -d -m "${folder##*:}" -o "$grader" -g "$grader" "${folder%:*}"
done
say "Exchange: $exchange (1777), $id/inbound (3733), all of it $grader's."

mark="# --- JupyterHub (deploy/jupyterhub/setup.sh writes what follows) ---"
sed -i "\\|^$mark\$|,\$d" "$course/nbgrader_config.py"
cat >>"$course/nbgrader_config.py" <<TEXT
$mark
c = get_config()  # noqa: F821
c.Exchange.root = "$exchange"
c.CourseDirectory.course_id = "$id"
TEXT
chown -hR "$grader:" "$course"
chmod 0700 "$course" # nobody else needs anything in it: learners' environment is a copy
say "Project: $course is $grader's and closed to others (0700)."

json_list() { awk 'BEGIN { printf "[" } { printf "%s\"%s\"", (NR > 1 ? ", " : ""), $0 } END { printf "]" }'; }
cat >"$prefix/courses/$id.json" <<TEXT
{"id": "$id", "root": "$course", "account": "$grader", "exchange": "$exchange",
 "instructors": $(json_list <<<"$teaching"),
 "learners": $(json_list <<<"$learning")}
TEXT
chmod 600 "$prefix/courses/$id.json"
case $subdomains in
  "") ;;
  none) rm -f "$prefix/subdomains" ;;
  *) say "$subdomains" >"$prefix/subdomains" ;;
esac
install -m 644 -t "$prefix" "$here/jupyterhub_config.py" "$here/lti_sign_in.py"
learner_etc=$prefix/learner/.venv/etc/jupyter
install -D -m 644 -t "$learner_etc/jupyter_server_config.d" "$here/learner/transformer-labs.json"
install -D -m 644 "$here/learner/page_config.json" "$learner_etc/labconfig/page_config.json"
sed "s|@EXCHANGE@|$exchange|" "$here/learner/nbgrader_config.py" >"$learner_etc/nbgrader_config.py"
packages=$("$prefix/learner/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
install -m 644 -t "$packages" "$here/learner/closed_exchange.py" "$here/learner/at_the_map.py"
for etc in "$learner_etc" "$course/.venv/etc/jupyter"; do
  install -D -m 644 -t "$etc" "$here/jupyter_server_config.py"
done
say "Settings: written to $prefix and $learner_etc."

if systemd; then
  sed "s|@PREFIX@|$prefix|g" "$here/transformer-hub.service" >"$unit"
  systemctl daemon-reload
  systemctl enable --quiet transformer-hub
  systemctl restart transformer-hub
  answers="import urllib.request; urllib.request.urlopen('$address/hub/health', timeout=5)"
  for _ in {1..60}; do
    if "$prefix/hub/bin/python" -c "$answers" 2>/dev/null; then break; fi
    sleep 1
  done
  "$prefix/hub/bin/python" -c "$answers" 2>/dev/null ||
    stop "the hub does not answer at $address a minute after its start: journalctl -u transformer-hub says why."
  say "Started: the hub answers at $address. See systemctl status transformer-hub; journalctl -u transformer-hub."
else
  say "Not started, because this system runs no systemd: nothing starts the hub at boot, and no user has limits of memory and CPU. Start it with:"
  say "  $prefix/hub/bin/jupyterhub -f $prefix/jupyterhub_config.py"
  say "It will answer at $address."
fi
free_ports=$(cat /proc/sys/net/ipv4/ip_unprivileged_port_start 2>/dev/null || say 1024)
if [ "$free_ports" -le 802 ]; then
  say "Warning: every account may listen at ports from $free_ports on, so at the hub's while it is down, and would be sent passwords."
  say "  Close them: sysctl -w net.ipv4.ip_unprivileged_port_start=1024 (in a container, its options set this)."
fi
# Better said now than when the first lab is to be graded. The grading account is no root, so it needs user namespaces.
if ! why=$(runuser -u "$grader" -- bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc true 2>&1); then
  say "Warning: $grader cannot set up the sandbox, so nothing can be graded yet. It says: $why"
  say "  On Ubuntu 24.04 and later: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0. Elsewhere: docs/sandbox.md."
fi
say "For others to reach it, put a web server with TLS in front of $address (docs/jupyterhub.md)."
if [ -e "$prefix/subdomains" ]; then
  say "Its address is $(<"$prefix/subdomains"). Each user and each course has a name below that, which the DNS, the certificate and the web server must know."
fi
