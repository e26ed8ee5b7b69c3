#!/bin/sh
# Prepare Superset's own database, once for each version, then serve it. It is told by the environment alone.
set -eu

: "${SUPERSET_HOME:?the folder for its own database}"
: "${SUPERSET_SECRET_KEY:?a long random text, the same at every start}"
: "${SUPERSET_ADMIN_PASSWORD:?the password of its user admin}"
SUPERSET_CONFIG_PATH=${SUPERSET_CONFIG_PATH:-$(dirname "$0")/superset_config.py}
FLASK_APP="superset.app:create_app()"
export SUPERSET_CONFIG_PATH FLASK_APP

prepared=$SUPERSET_HOME/prepared-$(python3 -c 'from importlib.metadata import version; print(version("apache-superset"))')
if [ ! -e "$prepared" ]; then
    superset db upgrade
    superset fab create-admin --username admin --firstname Superset --lastname Admin \
        --email admin@example.org --password "$SUPERSET_ADMIN_PASSWORD"
    superset init
    touch "$prepared"
fi
exec gunicorn --bind "${SUPERSET_HOST:-127.0.0.1}:${SUPERSET_PORT:-8088}" --workers 1 --worker-class gthread --threads 8 \
    --timeout 120 "$FLASK_APP"
