#!/bin/sh
# Serve a policy. With arguments it is any other command: `docker run … check /policy/policy.yaml`.
set -eu

# A secret that is mounted as a file does not show up in `docker inspect`.
if [ -n "${PGPASSWORD_FILE:-}" ]; then
    PGPASSWORD=$(cat "$PGPASSWORD_FILE")
    export PGPASSWORD
fi

if [ $# -gt 0 ]; then
    exec dpsql "$@"
fi

policy=${DPSQL_POLICY:-/policy/policy.yaml}
if [ ! -r "$policy" ]; then
    echo "there is no policy to read at $policy: mount one there, or name it in DPSQL_POLICY" >&2
    exit 64
fi

set -- serve "$policy" --host "${DPSQL_HOST:-0.0.0.0}" --port "${DPSQL_PORT:-5433}"
if [ -n "${DPSQL_TLS_CERTIFICATE:-}${DPSQL_TLS_KEY:-}" ]; then
    set -- "$@" --tls-certificate "${DPSQL_TLS_CERTIFICATE:?}" --tls-key "${DPSQL_TLS_KEY:?}"
fi
# Only where nobody can read along, such as between the containers of one machine.
if [ -n "${DPSQL_WITHOUT_TLS:-}" ]; then
    set -- "$@" --without-tls
fi
exec dpsql "$@"
