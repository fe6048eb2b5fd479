#!/usr/bin/env bash
# Removes what setup.sh made: the service, one course's settings and, if asked, the accounts it made. The project and
# the exchange stay: they hold people's work.
# shellcheck source-path=SCRIPTDIR source=common.sh
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
. "$here/common.sh"

usage() {
  cat <<'TEXT'
sudo deploy/jupyterhub/remove.sh [OPTION...]

  --id ID       the course to take off the hub (default: transformer-labs); with the last one, the hub goes, too
  --accounts    also delete the accounts that setup.sh made, with their homes, unless another course needs the hub
  --prefix DIR  where the hub is installed (default: /opt/transformer-hub)
TEXT
}

id=transformer-labs accounts=no
while [ $# -gt 0 ]; do
  case $1 in --accounts | --help) ;; *) [ -n "${2:-}" ] || stop "$1 needs a value: see --help." ;; esac
  case $1 in
    --id) id=$2 && shift 2 ;;
    --prefix) prefix=$2 && shift 2 ;;
    --accounts) accounts=yes && shift ;;
    --help) usage && exit ;;
    *) stop "$1 is no option of this script: see --help." ;;
  esac
done
need_root
[ -d "$prefix/state" ] || stop "no hub is installed in $prefix: name its folder with --prefix."

rm -rf -- "$prefix/courses/$id.json" "${prefix:?}/sockets/$id"
if [ -n "$(find "$prefix/courses" -name '*.json')" ]; then
  say "$id is off the hub; other courses stay, with all accounts. Restart the hub: systemctl restart transformer-hub"
  exit
fi
if systemd && [ -e "$unit" ]; then
  systemctl disable --now --quiet transformer-hub
  rm -f -- "$unit"
  systemctl daemon-reload
fi
if [ "$accounts" = yes ]; then
  while read -r name; do
    id "$name" >/dev/null 2>&1 || continue
    pkill -KILL -u "$name" || true # what still runs would keep the account
    sleep 0.2
    userdel --remove "$name" 2>/dev/null || stop "the account $name could not be removed: end its processes, then run this again."
  done <"$prefix/state/accounts"
  say "Removed: the accounts that setup.sh made, with their homes."
fi
rm -rf -- "${prefix:?}"/{hub,node,learner,courses,sockets,jupyterhub_config.py,lti_sign_in.py,lti.toml,subdomains}
if [ "$accounts" = yes ]; then
  rm -rf -- "$prefix/state"
  rmdir --ignore-fail-on-non-empty "$prefix"
fi
say "The hub is gone from $prefix. The project and the exchange are as they were."
