import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { Agent, fetch, type RequestInit } from 'undici';
import type { Config } from '../../../config.ts';
import type { ConfiguredServer } from '../../../domain/extensions/mcp-config.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import type { KeyPlace } from '../../encryption.ts';
import {
  type AddressRule,
  BlockedAddressError,
  guardedLookup,
  isPublicAddress,
  literalAddress,
  type Resolver,
  systemResolver,
} from '../../web/address-guard.ts';
import { McpError } from '../session.ts';

/** Requests of a login, to addresses that the server of somebody else names. */

export interface OAuthReach {
  server: string;
  /** origins that the owner's configuration names: they may be private, and without TLS */
  named: readonly string[];
  /** which addresses others may have */
  allows: AddressRule;
  resolve?: Resolver;
}

/** Of one answer: real ones have a few kilobytes. */
const MOST_BYTES = 1024 * 1024;
const ANSWER_MS = 15_000;
const WITHOUT_BODY = [101, 204, 205, 304];

/**
 * An address that may be used in a login. It says nothing of where a name leads: that is checked when the connection is
 * made. @throws McpError
 */
export function checkAddress({ server, named, allows }: OAuthReach, address: string | URL): URL {
  const refused = (why: string) =>
    new McpError(`The login of the MCP server ${server} leads to ${inline(String(address), 200)}, which ${why}.`);
  const url = URL.parse(String(address));
  if (!url) throw refused('is no address');
  if (url.username || url.password) throw refused('has a password in it');
  if (named.includes(url.origin)) return url;
  if (url.protocol !== 'https:') throw refused('is not https. Name it as the issuer in mcp.json if it is yours');
  const literal = literalAddress(url.hostname);
  if (url.hostname === 'localhost' || (literal && !allows(literal)))
    throw refused('is not on the public internet. Name it as the issuer in mcp.json if it is yours');
  return url;
}

/** A `fetch` for the SDK. Redirects are its own affair: it follows none to another origin. */
export function oauthFetch(reach: OAuthReach): FetchLike {
  return async (address, init) => {
    const url = checkAddress(reach, address);
    const lookup = reach.named.includes(url.origin)
      ? undefined
      : guardedLookup(reach.resolve ?? systemResolver, reach.allows);
    // one for each request: a pooled connection would outlive the check that allowed it
    const agent = new Agent({ connect: { ...(lookup && { lookup }) }, connections: 1, pipelining: 1 });
    const signals = [AbortSignal.timeout(ANSWER_MS), ...(init?.signal ? [init.signal] : [])];
    const { method = 'GET', headers, body } = init ?? {};
    try {
      const response = await fetch(url, {
        dispatcher: agent,
        method,
        headers: [...new Headers(headers)],
        body: body instanceof URLSearchParams ? body.toString() : ((body as RequestInit['body'] | undefined) ?? null),
        redirect: 'manual',
        signal: AbortSignal.any(signals),
      });
      const read = await whole(response.body, `The login of the MCP server ${reach.server}: ${url.host}`);
      // the SDK knows only the global class
      return new Response(WITHOUT_BODY.includes(response.status) ? null : read, {
        status: response.status,
        headers: [...response.headers],
      });
    } catch (error) {
      if (error instanceof McpError || init?.signal?.aborted) throw error;
      // not a TypeError, which the SDK takes for a rule of browsers and tries again
      throw new McpError(`The login of the MCP server ${reach.server} cannot reach ${url.host}: ${causeOf(error)}`);
    } finally {
      await agent.destroy().catch(() => {});
    }
  };
}

async function whole(body: AsyncIterable<Uint8Array> | null, what: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MOST_BYTES) throw new McpError(`${what} answered with more than ${MOST_BYTES / 1024 / 1024} MB.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The first reason of a failure, in a few words. */
export function causeOf(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  if (cause instanceof BlockedAddressError) return 'it is not on the public internet';
  return (cause as NodeJS.ErrnoException).code?.toString() ?? (cause as Error).message;
}

/** What a process must know to use a login. */
export type LoginPlace = KeyPlace & Pick<Config, 'FETCH_ALLOW_PRIVATE_URLS'>;

/** Where the login of a server may lead: to what the owner's file names, and to public addresses. */
export function oauthReach({ server }: ConfiguredServer, url: string, config: LoginPlace): OAuthReach {
  const issuer = server.reach.over === 'http' ? server.reach.oauth?.issuer : undefined;
  const named = [url, ...(issuer ? [issuer] : [])].map((address) => new URL(address).origin);
  return {
    server: server.name,
    named,
    allows: (address) => config.FETCH_ALLOW_PRIVATE_URLS || isPublicAddress(address),
  };
}
