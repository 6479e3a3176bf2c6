import { createPayloadCodec } from '../../adapters/payloads/codec.ts';
import { listen } from '../../api/http/listen.ts';
import { createRuntimeApi } from '../../api/runtime/runtime-api.ts';
import { createStatusApi } from '../../api/status/status-api.ts';
import { reloadConfig } from '../../config.ts';
import { VERSION } from '../../installation.ts';
import { createIntake } from '../../intake/intake.ts';
import { createLog } from '../../log.ts';
import { keepAuditHead } from '../instance/home/audit-head.ts';
import { readPayloadKeys } from '../instance/home/payload-keys.ts';
import { ensureSecret, ensureToken } from '../instance/home/tokens.ts';
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
  const stopKeeping = keepAuditHead(store.db, config.FETCH_HOME, deps.log);
  role.onStop(async () => {
    stopKeeping();
    stopping.abort();
    await Promise.all([runtime.close(), status.close()]);
  });
  role.ready(`http://${config.runtimeHost}:${config.FETCH_RUNTIME_PORT}`);
}
