import type { Config } from '../../../config.ts';
import { keyValuesOf } from '../../../domain/settings/tracing.ts';
import { VERSION } from '../../../installation.ts';
import { createLog } from '../../../log.ts';
import { startTracing } from '../../../telemetry/tracing.ts';
import type { OwnRole } from '../../instance/home/state-file.ts';

/**
 * Sends the traces of this process to the endpoint of the settings; returns what sends the last ones. Null, and nothing
 * is loaded, where none is set.
 */
export async function openTracing(config: Config, roles: readonly OwnRole[]): Promise<(() => Promise<void>) | null> {
  const url = addressOf(config);
  if (url === undefined) return null;
  const { openOtlp } = await import('../../../adapters/tracing/otlp.ts');
  const log = createLog('traces', config.LOG_LEVEL);
  const { close, ...recorder } = await openOtlp({
    url,
    protocol: config.OTEL_EXPORTER_OTLP_PROTOCOL,
    headers: keyValuesOf(config.OTEL_EXPORTER_OTLP_HEADERS ?? '') ?? {},
    resource: {
      ...keyValuesOf(config.OTEL_RESOURCE_ATTRIBUTES ?? ''),
      'service.name': config.OTEL_SERVICE_NAME,
      'service.version': VERSION,
      'fetch.role': roles.join(','),
    },
    ratio: config.OTEL_TRACES_SAMPLER_ARG,
    log,
  });
  startTracing(recorder);
  return close;
}

const addressOf = ({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole,
  OTEL_EXPORTER_OTLP_ENDPOINT: base,
}: Config): string | undefined => whole ?? (base && new URL('v1/traces', base.endsWith('/') ? base : `${base}/`).href);
