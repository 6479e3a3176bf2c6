import type { Config } from '../../config.ts';
import type { Urls } from './home/state-file.ts';

/** An address to listen on may not be one to connect to. */
const shown = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;

export const urlsOf = (config: Config): Urls => ({
  runtime: `http://${shown(config.runtimeHost)}:${config.FETCH_RUNTIME_PORT}`,
  status: `http://${shown(config.FETCH_HOST)}:${config.FETCH_STATUS_PORT}`,
  temporalUi:
    config.TEMPORAL_ADDRESS && !config.FETCH_TEMPORAL_UI_URL
      ? null
      : `http://127.0.0.1:${config.FETCH_TEMPORAL_UI_PORT}`,
});
