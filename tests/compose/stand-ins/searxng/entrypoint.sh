set -eu
export SEARX_SETTINGS_PATH=/etc/searxng/settings.yml
# searx-run takes its address from the settings; the image of SearXNG listens here whatever they say
exec setpriv --reuid=nobody --regid=nogroup --clear-groups \
  python3 -c "from searx.webapp import app; app.run(host='0.0.0.0', port=8080, threaded=True)"
