import type { Client } from '@temporalio/client';
import { RETENTION_MS, SEARCH_ATTRIBUTES } from '../../../../temporal/namespace.ts';
import { HOUR } from '../../../domain/time.ts';
import type { Finding } from '../finding.ts';

/** gRPC status code */
const NOT_FOUND = 5;

/**
 * The namespace: whether it is there, how long it keeps closed conversations, and whether operators can filter chats in
 * it.
 */
export async function namespaceFindings(
  temporal: Client,
  namespace: string,
): Promise<{ exists: boolean; findings: Finding[] }> {
  try {
    const { config } = await temporal.workflowService.describeNamespace({ namespace });
    const retention = retentionFinding(namespace, Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0));
    return { exists: true, findings: [retention, await attributesFinding(temporal, namespace)] };
  } catch (error) {
    const absent = (error as { code?: number }).code === NOT_FOUND;
    const detail = absent
      ? `the Temporal server has no namespace ${namespace}`
      : `${namespace} could not be looked at: ${(error as Error).message}`;
    return {
      exists: !absent,
      findings: [
        {
          name: 'namespace',
          state: absent ? 'missing' : 'warning',
          version: null,
          detail,
          mend: absent ? 'fetch prepare' : null,
        },
      ],
    };
  }
}

function retentionFinding(namespace: string, seconds: number): Finding {
  const hours = Math.floor(seconds / 3_600);
  const wanted = RETENTION_MS / HOUR;
  const name = 'namespace';
  if (hours >= wanted)
    return {
      name,
      state: 'ok',
      version: null,
      detail: `${namespace} keeps closed conversations for ${Math.floor(hours / 24)} days`,
      mend: null,
    };
  return {
    name,
    state: 'warning',
    version: null,
    detail: `${namespace} keeps closed conversations for ${hours} hours only, not ${wanted}`,
    mend: `temporal operator namespace update -n ${namespace} --retention ${wanted}h`,
  };
}

async function attributesFinding(temporal: Client, namespace: string): Promise<Finding> {
  const name = 'search attributes';
  try {
    const { customAttributes } = await temporal.connection.operatorService.listSearchAttributes({ namespace });
    const wrong = Object.entries(SEARCH_ATTRIBUTES).filter(
      ([each, type]) => customAttributes?.[each] !== undefined && customAttributes[each] !== type,
    );
    if (wrong.length > 0)
      return {
        name,
        state: 'missing',
        version: null,
        detail: `${wrong.map(([each]) => each).join(', ')} of ${namespace} have another type than Fetch needs`,
        mend: 'use another namespace: TEMPORAL_NAMESPACE',
      };
    const absent = Object.keys(SEARCH_ATTRIBUTES).filter((each) => customAttributes?.[each] === undefined);
    if (absent.length > 0)
      return {
        name,
        state: 'missing',
        version: null,
        detail: `${namespace} lacks ${absent.join(', ')}`,
        mend: 'fetch prepare',
      };
    return {
      name,
      state: 'ok',
      version: null,
      detail: `${Object.keys(SEARCH_ATTRIBUTES).length} are there`,
      mend: null,
    };
  } catch (error) {
    // an administrator may allow roles to work and not to look
    return {
      name,
      state: 'warning',
      version: null,
      detail: `could not be listed: ${(error as Error).message}`,
      mend: null,
    };
  }
}
