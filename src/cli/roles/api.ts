import type { PayloadCodec } from '@temporalio/common';
import { createPayloadCodec } from '../../adapters/payloads/codec.ts';
import { listen } from '../../api/http/listen.ts';
import { sendNotices } from '../../api/owner/push/notices.ts';
import { createRuntimeApi } from '../../api/runtime-api.ts';
import { createStatusApi } from '../../api/status/status-api.ts';
import { type Config, reloadConfig } from '../../config.ts';
import { createIntake } from '../../gateway/intake/intake.ts';
import { VERSION } from '../../installation.ts';
import { createLog } from '../../log.ts';
import { keepAuditHead } from '../instance/home/audit-head.ts';
import { ensureSecret, ensureToken } from '../instance/home/home.ts';
import { readPayloadKeys } from '../instance/home/payload-keys.ts';
import { keepReceipts } from '../instance/home/receipt-key.ts';
import { serveUi, type UiProxy } from '../instance/servers/ui-proxy.ts';
import { ownerInstance } from './owner-instance.ts';
import type { RoleContext } from './process/role-context.ts';

/** The role that serves HTTP: the runtime API and the status API. */
export async function run({ config, role, store, temporal }: RoleContext): Promise<void> {
  const secret = ensureSecret(config.FETCH_HOME, 'chat-key');
  const intake = createIntake({ db: store.db, temporal, config, secret });
  const stopping = new AbortController();
  const deps = {
    config,
    token: ensureToken(config.FETCH_HOME, 'runtime-token', config.runtimeToken),
    adminToken: ensureToken(config.FETCH_HOME, 'admin-token', config.ADMIN_TOKEN),
    store,
    intake,
    codec: createPayloadCodec(() => readPayloadKeys(config)),
    version: VERSION,
    startedAt: new Date(),
    chatSecret: secret,
    stopping: stopping.signal,
    log: createLog('api', config.LOG_LEVEL),
    reload: () => reloadConfig(config),
    instance: ownerInstance(config),
  };
  const runtime = await listen(createRuntimeApi(deps), config.runtimeHost, config.FETCH_RUNTIME_PORT);
  const status = await listen(createStatusApi(deps), config.FETCH_HOST, config.FETCH_STATUS_PORT);
  const ui = await serveOwnUi(deps);
  const stopKeeping = keepAuditHead(store.db, config.FETCH_HOME, deps.log);
  const stopNotices = sendNotices(deps);
  const stopReceipts = keepReceipts(store.db, config.FETCH_HOME, deps.log);
  role.onStop(async () => {
    stopKeeping();
    stopReceipts();
    stopping.abort();
    await stopNotices();
    await Promise.all([runtime.close(), status.close(), ui?.close()]);
  });
  role.ready(`http://${config.runtimeHost}:${config.FETCH_RUNTIME_PORT}`);
}

/** The Web UI of a Temporal server of one's own. It has no log-in and cannot decrypt: both are done here. */
async function serveOwnUi({ config, codec }: { config: Config; codec: PayloadCodec }): Promise<UiProxy | undefined> {
  if (config.FETCH_TEMPORAL_UI_URL === undefined) return undefined;
  const token = ensureToken(config.FETCH_HOME, 'ui-token');
  return await serveUi({
    host: config.FETCH_HOST,
    port: config.FETCH_TEMPORAL_UI_PORT,
    target: new URL(config.FETCH_TEMPORAL_UI_URL),
    token,
    codec,
    namespace: config.TEMPORAL_NAMESPACE,
  });
}
