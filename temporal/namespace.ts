import { Connection, type ConnectionOptions } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { compareVersions, MIN_SERVER } from './version.ts';

/** How long closed conversations stay readable; the dev server's default is one day. */
export const RETENTION_MS = 30 * 24 * 3600 * 1000;

/** temporal.api.enums.v1.IndexedValueType */
const KEYWORD = 2;
const INT = 3;
const DATETIME = 6;
const TYPE_NAMES: Readonly<Record<number, string>> = { [KEYWORD]: 'Keyword', [INT]: 'Int', [DATETIME]: 'Datetime' };
/** What operators can filter chats by. */
export const SEARCH_ATTRIBUTES: Readonly<Record<string, number>> = {
  AgentPhase: KEYWORD,
  AgentSince: DATETIME,
  AgentThread: KEYWORD,
  AgentWaitsFor: KEYWORD,
  ChatChannel: KEYWORD,
  SpendMicroUsd: INT,
};

/** Where a server is, and how to connect. */
type Endpoint = { address: string } & Pick<ConnectionOptions, 'tls' | 'apiKey'>;

export interface Preparation {
  server: string;
  /** what could not be set up on somebody else's server, each with the command for its administrator */
  warnings: string[];
}

/** gRPC status codes */
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const PERMISSION_DENIED = 7;
const UNIMPLEMENTED = 12;
const UNAUTHENTICATED = 16;
const codeOf = (error: unknown): number | undefined => (error as { code?: number }).code;

/**
 * Prepares a namespace: waits until the server answers (at most `waitMs`), checks its version, and sets retention and
 * search attributes. It changes only what is missing, so it may run at every start and against somebody else's server.
 * Throws when the server does not answer, is too old, or has no such namespace and none may be created.
 */
export async function prepareNamespace(
  server: string | Endpoint,
  namespace: string,
  options: { waitMs?: number; explain?: Explain } = {},
): Promise<Preparation> {
  const endpoint = typeof server === 'string' ? { address: server } : server;
  const { address } = endpoint;
  const connection = await connect(endpoint, options.waitMs ?? 60_000, options.explain);
  try {
    const version = (await connection.workflowService.getSystemInfo({})).serverVersion ?? '';
    if (version && compareVersions(version, MIN_SERVER) < 0) {
      throw new Error(
        `The Temporal server at ${address} is version ${version}; ${MIN_SERVER} or newer is needed. Upgrade it, or unset TEMPORAL_ADDRESS to use the embedded one.`,
      );
    }
    const warnings: string[] = [];
    await seeToNamespace(connection, namespace, warnings);
    await seeToSearchAttributes(connection, namespace, warnings);
    return { server: version, warnings };
  } finally {
    await connection.close();
  }
}

/** Says in better words why a connection failed. `lasting`: waiting does not help. */
type Explain = (error: unknown) => Promise<Error & { lasting: boolean }>;

async function connect(endpoint: Endpoint, waitMs: number, explain?: Explain): Promise<Connection> {
  for (const end = Date.now() + waitMs; ; ) {
    try {
      return await Connection.connect({ ...endpoint, connectTimeout: Math.min(waitMs, 2_000) });
    } catch (error) {
      const told = await explain?.(error);
      if (told && (told.lasting || Date.now() > end)) throw told;
      if (Date.now() > end)
        throw new Error(
          `No Temporal server answers at ${endpoint.address}: ${(error as Error).message}. Check TEMPORAL_ADDRESS, or unset it to use the embedded server.`,
        );
      await new Promise((wake) => setTimeout(wake, 100));
    }
  }
}

async function seeToNamespace(connection: Connection, namespace: string, warnings: string[]): Promise<void> {
  const { workflowService } = connection;
  const retention = msToTs(RETENTION_MS);
  try {
    const { config } = await workflowService.describeNamespace({ namespace });
    const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
    if (seconds * 1000 >= RETENTION_MS) return;
    await permitted(
      () => workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl: retention } }),
      `Closed conversations are kept for ${Math.round(seconds / 3600)} hours only: temporal operator namespace update -n ${namespace} --retention 720h`,
      warnings,
    );
  } catch (error) {
    if (codeOf(error) !== NOT_FOUND)
      return void (await permitted(
        () => Promise.reject(error),
        `Namespace ${namespace} could not be looked at`,
        warnings,
      ));
    try {
      await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: retention });
    } catch (refusal) {
      // the dev server creates its own namespace at the same moment
      if (codeOf(refusal) === ALREADY_EXISTS) return await seeToNamespace(connection, namespace, warnings);
      throw new Error(
        `The Temporal server has no namespace "${namespace}" and none could be made (${(refusal as Error).message}). Make it: temporal operator namespace create -n ${namespace} --retention 720h`,
      );
    }
  }
}

async function seeToSearchAttributes(connection: Connection, namespace: string, warnings: string[]): Promise<void> {
  const commands = Object.entries(SEARCH_ATTRIBUTES).map(
    ([name, type]) =>
      `temporal operator search-attribute create -n ${namespace} --name ${name} --type ${TYPE_NAMES[type]}`,
  );
  await permitted(
    async () => {
      // a new namespace is not in every cache of the server yet
      const { customAttributes } = await whileNotFound(() =>
        connection.operatorService.listSearchAttributes({ namespace }),
      );
      const present = customAttributes ?? {};
      const missing = Object.entries(SEARCH_ATTRIBUTES).filter(([name]) => present[name] === undefined);
      for (const [name, type] of Object.entries(SEARCH_ATTRIBUTES)) {
        if (present[name] !== undefined && present[name] !== type)
          throw new Error(
            `The search attribute ${name} of namespace ${namespace} has another type than Fetch needs. Use another namespace: TEMPORAL_NAMESPACE.`,
          );
      }
      if (missing.length === 0) return;
      try {
        await connection.operatorService.addSearchAttributes({
          namespace,
          searchAttributes: Object.fromEntries(missing),
        });
      } catch (error) {
        // another machine prepared it at the same moment
        if (codeOf(error) !== ALREADY_EXISTS) throw error;
      }
    },
    `Search attributes could not be made: ${commands.join(' && ')}`,
    warnings,
  );
}

async function whileNotFound<T>(call: () => Promise<T>): Promise<T> {
  for (const end = Date.now() + 20_000; ; await new Promise((wake) => setTimeout(wake, 100))) {
    try {
      return await call();
    } catch (error) {
      if (codeOf(error) !== NOT_FOUND || Date.now() > end) throw error;
    }
  }
}

/** Somebody else's server may forbid administration: that is a warning, every other error is thrown. */
async function permitted(call: () => Promise<unknown>, warning: string, warnings: string[]): Promise<void> {
  try {
    await call();
  } catch (error) {
    const code = codeOf(error);
    if (code !== PERMISSION_DENIED && code !== UNAUTHENTICATED && code !== UNIMPLEMENTED) throw error;
    warnings.push(warning);
  }
}
