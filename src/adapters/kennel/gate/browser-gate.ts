import type { Logger } from 'pino';
import { egressWords } from '../../../domain/tasks/egress.ts';
import { type EgressRule, ruleFor } from '../../../store/kennel/egress-rules.ts';
import { KeyedMutex } from '../../keyed-mutex.ts';
import { type AddressRule, isPublicAddress, type Resolver, systemResolver } from '../../web/address-guard.ts';
import type { Admission } from './egress/admission.ts';
import type { Target } from './egress/allow-list.ts';
import { EgressProxy } from './egress/egress-proxy.ts';
import { createRefusedHosts, type RefusedHosts } from './egress/refused-hosts.ts';
import { createTrafficCount } from './egress/traffic.ts';
import { createSlots } from './slots.ts';
import { openSocketFolder, type SocketFolder } from './socket.ts';

/** Why an address was not reached. */
export interface RefusedAddress extends Target {
  /** a person's rule, and not the address itself */
  ruled: boolean;
}

/** A browser as the gate knows it. */
export interface BrowserWayOut {
  /** name of the browser; one socket each */
  key: string;
  /** folder on the host for `egress.sock`; created if needed */
  folder: string;
  /** the rules of people about hosts, the latest first; they are read again while connections are open */
  rules(): Promise<EgressRule[]>;
}

/**
 * The way out of browsers: one socket each, for everything that a page loads. Any public address may be reached, as with web_fetch, because nobody can answer for
 * each host of a page. A host that a person refused for the workspace stays closed. Addresses are checked where the connection is made, so redirects, WebSockets
 * and names that change their address meet the same rule.
 */
export interface BrowserGate {
  /** Opens the socket, or leaves it as it is. */
  open(browser: BrowserWayOut): Promise<void>;
  /** What was refused since the last call. */
  refused(key: string): RefusedAddress[];
  close(key: string): Promise<void>;
  openBrowsers(): string[];
  closeAll(): Promise<void>;
}

export interface BrowserGateDeps {
  log: Logger;
  /** which addresses may be reached; public ones by default */
  allows?: AddressRule;
  resolve?: Resolver;
}

const IDLE_MS = 300_000;
const LOOKUPS = 2;
/** How long rules that were read count without another look, in ms. */
const RULES_MS = 500;
/** A page may try any number of addresses. */
const MOST_REFUSED = 20;

interface Open {
  folder: string;
  sockets: SocketFolder;
  proxy: EgressProxy;
  refused: Map<string, RefusedAddress>;
}

export function createBrowserGate({ log, allows = isPublicAddress, resolve = systemResolver }: BrowserGateDeps): BrowserGate {
  const lookups = createSlots(LOOKUPS);
  const browsers = new Map<string, Open>();
  // the open and the close of one browser never overlap
  const turns = new KeyedMutex();

  async function open({ key, folder, rules }: BrowserWayOut): Promise<void> {
    const known = browsers.get(key);
    if (known && known.folder === folder && known.sockets.has('egress.sock')) return;
    if (known) await shut(key);
    const refused: Open['refused'] = new Map();
    const note = (target: Target, ruled: boolean) => {
      const name = `${target.host}:${target.port}`;
      if (refused.size < MOST_REFUSED && !refused.has(name)) refused.set(name, { ...target, ruled });
    };
    const proxy = new EgressProxy({
      allows,
      resolve,
      lookups,
      idleMs: IDLE_MS,
      log: log.child({ browser: key }),
      admission: admissionOf(rules, (target) => note(target, true)),
      refused: noting((target) => note(target, false)),
      traffic: createTrafficCount(async () => {}),
      cache: null,
      isMirror: () => false,
      // a browser reads pages without TLS too
      isPlain: () => true,
    });
    const sockets = openSocketFolder(folder);
    try {
      await sockets.listen(proxy.server, 'egress.sock');
    } catch (error) {
      sockets.close();
      throw error;
    }
    proxy.server.on('error', (error) => log.warn({ error: error.message }, 'the socket of a browser failed'));
    browsers.set(key, { folder, sockets, proxy, refused });
  }

  async function shut(key: string): Promise<void> {
    const browser = browsers.get(key);
    if (!browser) return;
    browsers.delete(key);
    const cut = browser.proxy.cut();
    await new Promise<void>((done) => {
      browser.proxy.server.close(() => done());
      browser.proxy.server.closeAllConnections();
    });
    await cut;
    browser.sockets.close();
  }

  return {
    open: (browser) => turns.run(browser.key, () => open(browser)),
    close: (key) => turns.run(key, () => shut(key)),
    openBrowsers: () => [...browsers.keys()],
    refused(key) {
      const refused = browsers.get(key)?.refused;
      const all = [...(refused?.values() ?? [])];
      refused?.clear();
      return all;
    },
    async closeAll() {
      await Promise.all([...browsers.keys()].map((key) => turns.run(key, () => shut(key))));
    },
  };
}

/** Nobody is asked: only a person's no closes a host. Every connection counts as ruled, so that a later no cuts it. */
function admissionOf(read: () => Promise<EgressRule[]>, onRefused: (target: Target) => void): Admission {
  let rules: EgressRule[] = [];
  let readAt = 0;
  const closed = (target: Target): boolean => ruleFor(rules, target)?.allowed === false;
  const fresh = async (): Promise<void> => {
    if (Date.now() - readAt < RULES_MS) return;
    rules = await read();
    readAt = Date.now();
  };
  return {
    async admit(target) {
      try {
        await fresh();
      } catch {
        return { open: false, status: '503 Service Unavailable', words: egressWords.noStore(target) };
      }
      if (!closed(target)) return { open: true, ruled: true };
      onRefused(target);
      return { open: false, status: '403 Not allowed by the person', words: egressWords.notAllowed(target) };
    },
    async reviewed() {
      await fresh().catch(() => {});
      return (target) => !closed(target);
    },
  };
}

/** Counts refusals, and stores none. */
function noting(note: (target: Target) => void): RefusedHosts {
  const counted = createRefusedHosts(async () => {});
  return {
    ...counted,
    count(target) {
      note(target);
      return counted.count(target);
    },
  };
}
