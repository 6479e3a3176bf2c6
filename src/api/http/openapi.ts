import { z } from 'zod';
import { type Endpoint, endpointsWith, paramsOf } from './endpoint.ts';

/** The parts of an OpenAPI document besides its endpoints. */
export interface Port {
  title: string;
  description: string;
  /** ways to present the token */
  security: Record<string, object>;
  /** JSON of a refusal */
  refusal: z.ZodType;
  /** errors of path, query or body are plain text */
  plainTextRefusals?: boolean;
  /** each POST accepts the header Idempotency-Key */
  idempotencyKeys?: boolean;
  /** what a wrong token gets; 401 when unset */
  wrongToken?: 403;
  /** the document itself needs no token */
  open?: boolean;
}

type Json = Record<string, unknown>;
type AnyEndpoint = Pick<Endpoint<never>, Exclude<keyof Endpoint<never>, 'handle'>>;

/** The endpoints of a port, with `GET /openapi.json`, which describes them all. */
export function withDocument<Deps extends { version: string }>(
  port: Port,
  endpoints: ReadonlyArray<Endpoint<Deps>>,
): ReadonlyArray<Endpoint<Deps>> {
  let document: Json | undefined;
  const getDocument = endpointsWith<Deps>()({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    open: port.open,
    answer: { schema: z.record(z.string(), z.unknown()), what: 'OpenAPI 3.1.' },
    // made on the first request, because most processes are never asked for it
    handle: async (_, { version }) => {
      document ??= openApi(port, all, version);
      return document;
    },
  });
  const all = [...endpoints, getDocument];
  return all;
}

/** An OpenAPI 3.1 document. */
export function openApi(port: Port, endpoints: readonly AnyEndpoint[], version: string): Json {
  const schemas = jsonSchemas([port.refusal, ...endpoints.flatMap(schemasOf)]);
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] ??= {};
    paths[endpoint.path]![endpoint.method.toLowerCase()] = operation(port, endpoint, schemas.of);
  }
  return {
    openapi: '3.1.0',
    info: { title: port.title, description: port.description, version },
    security: Object.keys(port.security).map((name) => ({ [name]: [] })),
    paths,
    components: { securitySchemes: port.security, schemas: schemas.named },
  };
}

const schemasOf = ({ query = {}, body, answer, refusals = {} }: AnyEndpoint): z.ZodType[] =>
  [
    ...Object.values(query),
    body,
    answer.schema,
    answer.written?.schema,
    ...Object.values(refusals).map((why) => (typeof why === 'string' ? undefined : why.schema)),
  ].filter((schema) => schema !== undefined && schema !== null);

/**
 * All schemas at once, so that schemas with an id are written once and referred to. They describe what clients write:
 * fields with a default are optional.
 */
function jsonSchemas(schemas: readonly z.ZodType[]): { of: (schema: z.ZodType) => Json; named: Json } {
  const distinct = [...new Set(schemas)];
  const text = JSON.stringify(z.toJSONSchema(z.tuple(distinct as [z.ZodType, ...z.ZodType[]]), { io: 'input' }));
  const { prefixItems, $defs } = JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/')) as {
    prefixItems: Json[];
    $defs: Record<string, Json>;
  };
  const named = Object.fromEntries(Object.entries($defs).map(([name, { id: _, ...schema }]) => [name, schema]));
  return { of: (schema) => prefixItems[distinct.indexOf(schema)]!, named };
}

function operation(port: Port, endpoint: AnyEndpoint, jsonOf: (schema: z.ZodType) => Json): Json {
  const { method, path, summary, open, query = {}, body, bodyOptional, upload } = endpoint;
  const key =
    port.idempotencyKeys && method === 'POST'
      ? [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string', maxLength: 200 } }]
      : [];
  const parameters = [
    ...paramsOf(path).map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema: jsonOf(schema) })),
    ...key,
  ];
  return {
    summary,
    ...(open && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: !bodyOptional, content: { 'application/json': { schema: jsonOf(body) } } },
    }),
    ...(upload && {
      requestBody: {
        required: true,
        description: upload,
        content: { '*/*': { schema: { type: 'string', format: 'binary' } } },
      },
    }),
    responses: responses(port, endpoint, key.length > 0, jsonOf),
  };
}

function responses(port: Port, endpoint: AnyEndpoint, keyed: boolean, jsonOf: (schema: z.ZodType) => Json): Json {
  const { path, query, body, bodyOptional, upload, open, answer, refusals = {} } = endpoint;
  const json = (schema: z.ZodType) => ({ 'application/json': { schema: jsonOf(schema) } });
  const edge = {
    ...(port.plainTextRefusals && { 'text/plain': { schema: { type: 'string' } } }),
    ...json(port.refusal),
  };
  const told: Record<string, { description: string; content?: Json }> = {};
  if (query || body || keyed || paramsOf(path).length > 0)
    told[400] = { description: 'The request is not right.', content: edge };
  if (!open) {
    told[401] = {
      description: port.wrongToken ? 'The token is missing.' : 'The token is missing or wrong.',
      content: json(port.refusal),
    };
    if (port.wrongToken) told[port.wrongToken] = { description: 'The token is wrong.', content: json(port.refusal) };
  }
  if (body) {
    told[413] = { description: 'The body is too long.', content: edge };
    if (!bodyOptional) told[415] = { description: 'The body is not JSON by its content type.', content: edge };
  }
  if (upload) told[413] = { description: 'The file is too large.', content: edge };
  if (body || keyed)
    told[422] = {
      description: 'The body has another shape, or the Idempotency-Key was used with another body.',
      content: edge,
    };
  for (const [status, why] of Object.entries(refusals))
    told[status] =
      typeof why === 'string'
        ? // the same status may come from the edge, as text
          { description: why, content: { ...told[status]?.content, ...json(port.refusal) } }
        : { description: why.what, ...(why.schema && { content: json(why.schema) }) };
  const { written, schema } = answer;
  const shape = { schema: written?.schema ? jsonOf(written.schema) : { type: 'string' } };
  const content = written
    ? { [written.type]: shape, ...(written.or && { [written.or]: shape }) }
    : schema && json(schema);
  return {
    [answer.status ?? 200]: { description: answer.what, ...(content && { content }) },
    ...told,
    default: { description: 'Something else is wrong.', content: json(port.refusal) },
  };
}
