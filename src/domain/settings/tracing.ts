import { z } from 'zod';
import { httpUrl, secret } from './shapes.ts';

const address = () =>
  httpUrl('http://127.0.0.1:4318')
    .refine((value) => !value.includes('@'), 'must have no password in it: OTEL_EXPORTER_OTLP_HEADERS is for keys')
    .optional();

/**
 * `name=value` pairs, separated by commas, with percent-encoded values, as settings of OpenTelemetry have them. Null
 * when it is none.
 */
export function keyValuesOf(text: string): Record<string, string> | null {
  const pairs = text
    .split(',')
    .map((pair) => pair.trim())
    .filter(Boolean);
  const found: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, Math.max(0, at)).trim();
    const value = decode(pair.slice(at + 1).trim());
    if (!/^[\w.-]+$/.test(name) || value === null) return null;
    found[name] = value;
  }
  return found;
}

const isKeyValues = (text: string): boolean => keyValuesOf(text) !== null;

function decode(value: string): string | null {
  try {
    return decodeURIComponent(value);
  } catch {
    return null;
  }
}

/** Where traces go. The names and their meanings are those of OpenTelemetry. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: address().describe(
    'OTLP endpoint for traces over HTTP; `/v1/traces` is added. Nothing is traced while it is unset',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: address().describe('OTLP endpoint for traces with its whole path'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/protobuf', 'http/json'])
    .default('http/protobuf')
    .describe('How traces are sent; gRPC is not spoken'),
  OTEL_EXPORTER_OTLP_HEADERS: secret()
    .refine((value) => value === undefined || isKeyValues(value), 'must be name=value pairs, separated by commas')
    .describe(
      'Headers of the endpoint, such as its key: `name=value`, separated by commas, with percent-encoded values',
    ),
  OTEL_SERVICE_NAME: z.string().trim().min(1).default('fetch').describe('Name of the service in traces'),
  OTEL_RESOURCE_ATTRIBUTES: z
    .string()
    .trim()
    .refine(isKeyValues, 'must be name=value pairs, separated by commas')
    .optional()
    .describe('Further attributes of each process in traces, such as `deployment.environment.name=home`'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('Share of messages that are traced, from 0 to 1 (the sampler is `parentbased_traceidratio`)'),
} as const;
