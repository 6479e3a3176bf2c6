import { refreshAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import {
  InvalidClientError,
  InvalidGrantError,
  InvalidScopeError,
  type OAuthError,
  UnauthorizedClientError,
} from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { inline } from '../../../domain/text/foreign-text.ts';
import { changeLogin, findLogin, type LoginChange, type LoginRow } from '../../../store/owner/mcp-logins.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { KeyPlace } from '../../encryption.ts';
import { KeyedMutex } from '../../keyed-mutex.ts';
import { McpError, NeedsLogin } from '../session.ts';
import { type OAuthReach, oauthFetch } from './oauth-fetch.ts';
import { openLogin, type StoredLogin, sealLogin, takenTokens } from './stored-login.ts';

/** One renewal of a process holds a connection and the lock; its other calls wait here and hold nothing. */
const renewals = new KeyedMutex();

/** The token of one server, for one session. */
export class ServerTokens {
  private readonly db: Db;
  private readonly place: KeyPlace;
  private readonly server: string;
  private readonly url: string;
  private readonly reach: OAuthReach;
  private held: StoredLogin | null = null;
  private readonly seen = new Set<string>();

  constructor({ db, place, url, reach }: { db: Db; place: KeyPlace; url: string; reach: OAuthReach }) {
    this.db = db;
    this.place = place;
    this.server = reach.server;
    this.url = url;
    this.reach = reach;
  }

  /** Everything that must not be shown. */
  secrets(): Iterable<string> {
    return this.seen;
  }

  /**
   * A token that is not about to end; null: nobody has logged in, which is no failure where the server asks for no
   * login. @throws McpError
   */
  async current(): Promise<string | null> {
    this.held ??= this.read(await findLogin(this.db, this.server));
    const { held } = this;
    if (!held || !isDue(held)) return held?.accessToken ?? null;
    try {
      return await this.renewed(held.accessToken);
    } catch (error) {
      // it is renewed before its end, so that the authorization server may be away for a moment
      if (error instanceof NeedsLogin || held.expiresAt === null || Date.now() >= held.expiresAt) throw error;
      return held.accessToken;
    }
  }

  /** Another token than the one that the server refused. @throws NeedsLogin, McpError */
  async instead(of: string | null): Promise<string> {
    if (of === null) throw new NeedsLogin(this.server);
    return await this.renewed(of);
  }

  private renewed(old: string): Promise<string> {
    return renewals.run(`${this.place.FETCH_HOME} ${this.server}`, async () => {
      let failure: McpError | null = null;
      await changeLogin(this.db, this.server, async (row) => {
        const now = this.read(row ?? undefined);
        if (!now) throw new NeedsLogin(this.server);
        // another call, here or in another process, has renewed it meanwhile
        if (now.accessToken !== old && !isDue(now)) return this.hold(now);
        return await this.renew(now).catch((error: unknown) => {
          if (!(error instanceof NeedsLogin)) throw error;
          // kept, so that no further call asks for it
          failure = error;
          return { refused: error.why };
        });
      });
      if (failure) throw failure;
      return this.held!.accessToken;
    });
  }

  private async renew(login: StoredLogin): Promise<LoginChange> {
    if (login.refreshToken === undefined)
      throw new NeedsLogin(this.server, 'The one from before has ended, and its server gives no way to renew it.');
    const { issuer, metadata, client, resource, refreshToken } = login;
    try {
      const tokens = await refreshAuthorization(issuer, {
        metadata: metadata as never,
        clientInformation: client as never,
        refreshToken,
        ...(resource !== undefined && { resource: resource as never }),
        fetchFn: oauthFetch(this.reach),
      });
      const renewed = { ...login, ...takenTokens(this.server, tokens) };
      this.hold(renewed);
      const { sealed, expires_at, renewable } = sealLogin(this.place, this.server, renewed);
      return { sealed, expires_at, renewable, refused: null };
    } catch (error) {
      if (error instanceof McpError) throw error;
      const said = this.hidden(inline((error as Error).message, 200), login);
      if (isFinal(error))
        throw new NeedsLogin(
          this.server,
          `Its server does not renew the one from before (${(error as OAuthError).errorCode}).`,
        );
      throw new McpError(`The login at the MCP server ${this.server} cannot be renewed just now: ${said}`);
    }
  }

  private hidden(text: string, { refreshToken, client }: StoredLogin): string {
    return [refreshToken, client.client_secret].reduce<string>(
      (shown, secret) => (secret ? shown.replaceAll(secret, '[hidden]') : shown),
      text,
    );
  }

  private hold(login: StoredLogin): null {
    this.held = login;
    this.seen.add(login.accessToken);
    return null;
  }

  /** Null when there is none for this address. @throws NeedsLogin when it was refused */
  private read(row: LoginRow | undefined): StoredLogin | null {
    if (!row) return null;
    const login = openLogin(this.place, row);
    // the name stands for another server now
    if (login.url !== this.url) return null;
    if (row.refused) throw new NeedsLogin(this.server, row.refused);
    this.seen.add(login.accessToken);
    return login;
  }
}

const isDue = ({ expiresAt, marginMs }: StoredLogin): boolean =>
  expiresAt !== null && Date.now() >= expiresAt - marginMs;

/** The login has ended: asking again cannot help. */
const isFinal = (error: unknown): boolean =>
  [InvalidGrantError, InvalidClientError, UnauthorizedClientError, InvalidScopeError].some(
    (kind) => error instanceof kind,
  );
