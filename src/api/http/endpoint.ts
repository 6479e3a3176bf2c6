import type { Context } from 'koa';
import { z } from 'zod';

/** Exactly the fields of a record, so that a schema and the type in `src/contracts` cannot differ. */
export type Fields<Record> = { [Name in keyof Record]-?: z.ZodType<Record[Name]> };

/** RFC 3339. The pattern is left out: it is long and adds nothing. */
export const time = () => z.iso.datetime({ offset: true }).meta({ pattern: undefined });
export const count = () => z.int().nonnegative();
export const usd = () => z.number().nonnegative();

/** Names in the braces of a path: `/v1/threads/{id}` has `id`. */
type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsOf<Rest>
  : never;

/** The schema of each query parameter, which is read as text. */
export type QueryFields = Record<string, z.ZodType>;
export type QueryOf<Fields extends QueryFields> = { [Name in keyof Fields]?: z.output<Fields[Name]> };

interface EndpointRequest<Path extends string, Query extends QueryFields, Body extends z.ZodObject | undefined> {
  ctx: Context;
  params: Record<ParamsOf<Path>, string>;
  query: QueryOf<Query>;
  body: Body extends z.ZodObject ? z.output<Body> : undefined;
}

interface Answer<Value extends z.ZodType = z.ZodType> {
  /** 200 when unset */
  status?: number;
  /** schema of the JSON that `handle` returns */
  schema?: Value;
  /**
   * the handler writes the response itself, with this content type; `schema` describes one event of a stream. `or`:
   * another type that it may have
   */
  written?: { type: string; schema?: z.ZodType; or?: string };
  /** what the answer is, for the OpenAPI document */
  what: string;
}

/** A JSON answer with another status than the declared one. */
export class Reply {
  readonly status: number;
  readonly value: unknown;
  constructor(status: number, value: unknown) {
    this.status = status;
    this.value = value;
  }
}

/** An endpoint is declared once. Routing, validation and the OpenAPI document of its port come from the declaration. */
export interface Endpoint<
  Deps,
  Path extends string = string,
  Query extends QueryFields = QueryFields,
  Body extends z.ZodObject | undefined = z.ZodObject | undefined,
  Value extends z.ZodType = z.ZodType,
> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** as OpenAPI writes it: `/v1/threads/{id}` */
  path: Path;
  summary: string;
  /** needs no token */
  open?: boolean;
  query?: Query;
  /** its `id` is its name in error texts */
  body?: Body;
  /** the body is optional, and is read whatever its content type is */
  bodyOptional?: boolean;
  /** the body is a file, which the handler reads; what it is, for the OpenAPI document */
  upload?: string;
  answer: Answer<Value>;
  /** further statuses, with the reason, and the body where it is not that of the port's refusals; null: none */
  refusals?: Record<number, string | { what: string; schema: z.ZodType | null }>;
  handle(request: EndpointRequest<Path, Query, Body>, deps: Deps): Promise<z.input<Value> | Reply>;
}

/**
 * Declares endpoints whose handlers get `Deps`. `handle` gets the types of parameters, body and answer; a list of
 * endpoints has one type.
 */
export const endpointsWith =
  <Deps>() =>
  <
    Path extends string,
    // biome-ignore lint/complexity/noBannedTypes: an endpoint without a query has no parameters
    Query extends QueryFields = {},
    Body extends z.ZodObject | undefined = undefined,
    Value extends z.ZodType = z.ZodVoid,
  >(
    endpoint: Endpoint<Deps, Path, Query, Body, Value>,
  ): Endpoint<Deps> =>
    endpoint as unknown as Endpoint<Deps>;

/** Parameter names, in the order of the path. */
export const paramsOf = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
