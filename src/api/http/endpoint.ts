import type { Context } from 'koa';
import type { z } from 'zod';

/** Names in the braces of a path: `/v1/threads/{id}` has `id`. */
type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamsOf<Rest> : never;

/** Each parameter of the query string, read from its text. */
export type QueryFields = Record<string, z.ZodType>;
export type QueryOf<Fields extends QueryFields> = { [Name in keyof Fields]?: z.output<Fields[Name]> };

export interface EndpointRequest<Path extends string, Query extends QueryFields, Body extends z.ZodObject | undefined> {
  ctx: Context;
  params: Record<ParamsOf<Path>, string>;
  query: QueryOf<Query>;
  body: Body extends z.ZodObject ? z.output<Body> : undefined;
}

export interface Answer<Value extends z.ZodType = z.ZodType> {
  /** 200 when left out */
  status?: number;
  /** of the JSON that `handle` returns */
  schema?: Value;
  /** in its place: the handler writes the response itself, of this content type; `schema` is of one event of a stream */
  written?: { type: string; schema?: z.ZodType };
  /** for the document: what it is */
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

/** An endpoint is declared once: routing, validation and the OpenAPI document of its port come from this. */
export interface Endpoint<
  Deps,
  Path extends string = string,
  Query extends QueryFields = QueryFields,
  Body extends z.ZodObject | undefined = z.ZodObject | undefined,
  Value extends z.ZodType = z.ZodType,
> {
  method: 'GET' | 'POST';
  /** as OpenAPI writes it: `/v1/threads/{id}` */
  path: Path;
  summary: string;
  /** needs no token */
  open?: boolean;
  query?: Query;
  /** its `id` is the name that error texts call it by */
  body?: Body;
  /** the body may be left out, and is read whatever its content type is */
  bodyOptional?: boolean;
  answer: Answer<Value>;
  /** statuses that it refuses with beside those that follow from its declaration: why, and the body where it is not the refusal of the port */
  refusals?: Record<number, string | { what: string; schema: z.ZodType }>;
  handle(request: EndpointRequest<Path, Query, Body>, deps: Deps): Promise<z.input<Value> | Reply>;
}

/** Declares endpoints whose handlers get `Deps`. The types of parameters, body and answer reach `handle`; a list of endpoints stays a list of one type. */
export const endpointsWith =
  <Deps>() =>
  // biome-ignore lint/complexity/noBannedTypes: an endpoint without a query has no parameters
  <Path extends string, Query extends QueryFields = {}, Body extends z.ZodObject | undefined = undefined, Value extends z.ZodType = z.ZodVoid>(
    endpoint: Endpoint<Deps, Path, Query, Body, Value>,
  ): Endpoint<Deps> =>
    endpoint as unknown as Endpoint<Deps>;

/** Names of the parameters, in the order of the path. */
export const paramsOf = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
