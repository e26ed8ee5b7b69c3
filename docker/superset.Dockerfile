# Superset with the versions that the tests of dpsql run it with.
FROM python:3.11.13-slim-bookworm

ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1

RUN useradd --system --uid 10002 --create-home superset \
    && install -d -o superset -g superset -m 0700 /superset

COPY superset-requirements.txt /opt/superset/
RUN pip install -r /opt/superset/superset-requirements.txt
COPY --chmod=0755 superset.sh superset_config.py /opt/superset/

ENV SUPERSET_HOME=/superset SUPERSET_HOST=0.0.0.0
USER superset
EXPOSE 8088
VOLUME /superset
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8088/health', timeout=4)"]
ENTRYPOINT ["/opt/superset/superset.sh"]
