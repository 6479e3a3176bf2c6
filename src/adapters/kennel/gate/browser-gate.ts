import type { Logger } from 'pino';
import { egressWords } from '../../../domain/tasks/egress.ts';
import { type EgressRule, ruleFor } from '../../../store/kennel/egress-rules.ts';
import { KeyedMutex } from '../../keyed-mutex.ts';
import { type AddressRule, isPublicAddress, type Resolver, systemResolver } from '../../web/address-guard.ts';
import type { Admission } from './egress/admission.ts';
import type { AllowList, Target } from './egress/allow-list.ts';
import { EgressProxy } from './egress/egress-proxy.ts';
import { isLocal, type LocalApps, LocalWay } from './egress/local-apps.ts';
import { createRefusedHosts, createTrafficCount, type RefusedHosts } from './egress/traffic.ts';
import { createSlots } from './slots.ts';
import { openSocketFolder, type SocketFolder } from './socket.ts';

/** An address that was not reached. */
export interface RefusedAddress extends Target {
  /** why, in one line for the model */
  words: string;
}

/** A browser as the gate knows it. */
interface BrowserWayOut {
  /** name of the browser; one socket each */
  key: string;
  /** folder on the host for `egress.sock`; created if needed */
  folder: string;
  /** the rules of people about hosts, the latest first; they are read again while connections are open */
  rules(): Promise<EgressRule[]>;
  /** what `localhost` means; null: the browser is for the web */
  apps: LocalApps | null;
}

/**
 * The way out of browsers: one socket each, for everything that a page loads. Addresses are checked where the
 * connection is made, so redirects, WebSockets and names that change their address meet the same rule.
 *
 * A browser for the web reaches any public address, as web_fetch does, because nobody can answer for each host of a
 * page. A host that a person refused for the workspace stays closed, and so does `localhost`: a page of the web must
 * not act on an app.
 *
 * A browser for the apps of a workspace reaches those apps, and the hosts that containers of this workspace may reach
 * anyway. An app can read the whole workspace and has no network; its page must not be its way out.
 */
export interface BrowserGate {
  /** Opens the socket, or leaves it as it is. What is asked through it counts from then on. */
  open(browser: BrowserWayOut): Promise<void>;
  /** Refusals since the last call. */
  refused(key: string): RefusedAddress[];
  close(key: string): Promise<void>;
  openBrowsers(): string[];
  closeAll(): Promise<void>;
}

export interface BrowserGateDeps {
  log: Logger;
  /** which addresses may be reached; public ones by default */
  allows?: AddressRule;
  /** hosts that every container may reach */
  listed?: () => AllowList;
  resolve?: Resolver;
}

const IDLE_MS = 300_000;
const LOOKUPS = 2;
/** How long rules that were read count without another look, in ms. */
const RULES_MS = 500;
/** What Chromium asks for by itself, in spite of its policy. No page wanted it, so nobody is told. */
const OF_CHROMIUM = new Set([
  'update.googleapis.com',
  'clients2.google.com',
  'redirector.gvt1.com',
  'optimizationguide-pa.googleapis.com',
]);
/** A page may try any number of addresses. */
const MOST_REFUSED = 20;

interface Open {
  /** as the latest call has it */
  wanted: BrowserWayOut;
  sockets: SocketFolder;
  proxy: EgressProxy;
  refused: Map<string, RefusedAddress>;
}

export function createBrowserGate({
  log,
  allows = isPublicAddress,
  listed = () => () => false,
  resolve = systemResolver,
}: BrowserGateDeps): BrowserGate {
  const lookups = createSlots(LOOKUPS);
  const browsers = new Map<string, Open>();
  // the open and the close of one browser never overlap
  const turns = new KeyedMutex();

  async function open(wanted: BrowserWayOut): Promise<void> {
    const { key, folder } = wanted;
    const known = browsers.get(key);
    if (known && isSame(known.wanted, wanted) && known.sockets.has('egress.sock')) {
      known.wanted = wanted;
      return;
    }
    if (known) await shut(key);
    const refused: Open['refused'] = new Map();
    const note = (target: Target, words: string) => {
      const name = `${target.host}:${target.port}`;
      if (refused.size < MOST_REFUSED && !refused.has(name) && !OF_CHROMIUM.has(target.host))
        refused.set(name, { ...target, words });
    };
    const rules = () => opened.wanted.rules();
    const proxy = new EgressProxy({
      allows: (address, target) => !isLocal(target) && allows(address),
      resolve,
      lookups,
      idleMs: IDLE_MS,
      log: log.child({ browser: key }),
      admission: wanted.apps ? admission(rules, pageOfApp(listed), note) : admission(rules, pageOfWeb, note),
      refused: noting((target) => note(target, egressWords.notPublic(target))),
      traffic: createTrafficCount(async () => {}),
      cache: null,
      isMirror: () => false,
      // a browser reads pages without TLS too
      isPlain: () => true,
      local:
        wanted.apps &&
        new LocalWay(
          latest(wanted.apps, () => opened.wanted.apps!),
          IDLE_MS,
          note,
        ),
    });
    const sockets = openSocketFolder(folder);
    const opened: Open = { wanted, sockets, proxy, refused };
    try {
      await sockets.listen(proxy.server, 'egress.sock');
    } catch (error) {
      sockets.close();
      throw error;
    }
    proxy.server.on('error', (error) => log.warn({ error: error.message }, 'the socket of a browser failed'));
    browsers.set(key, opened);
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

const isSame = (known: BrowserWayOut, wanted: BrowserWayOut): boolean =>
  known.folder === wanted.folder && known.apps?.workspace === wanted.apps?.workspace;

/** The apps as the latest call has them. */
const latest = ({ workspace }: LocalApps, apps: () => LocalApps): LocalApps => ({
  workspace,
  connect: (port) => apps().connect(port),
  missing: (port) => apps().missing(port),
});

/** Why a page may not reach a host by these rules; null when it may. */
type Closed = (rules: EgressRule[], target: Target) => string | null;

const pageOfWeb: Closed = (rules, target) =>
  ruleFor(rules, target)?.allowed === false ? egressWords.notAllowed(target) : null;

const pageOfApp =
  (listed: () => AllowList): Closed =>
  (rules, target) => {
    const allowed = ruleFor(rules, target)?.allowed ?? listed()(target);
    return allowed ? null : egressWords.notForApps(target);
  };

/** Nobody is asked. Every connection counts as ruled, so that a later no cuts it. */
function admission(
  read: () => Promise<EgressRule[]>,
  closed: Closed,
  onRefused: (target: Target, words: string) => void,
): Admission {
  let rules: EgressRule[] = [];
  let readAt = 0;
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
      const words = closed(rules, target);
      if (words === null) return { open: true, ruled: true };
      onRefused(target, words);
      return { open: false, status: '403 Not allowed by the person', words };
    },
    async reviewed() {
      await fresh().catch(() => {});
      return (target) => closed(rules, target) === null;
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
