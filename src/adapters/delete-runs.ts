import { type Client, WorkflowNotFoundError } from '@temporalio/client';

/** gRPC status code NOT_FOUND */
const NOT_FOUND = 5;

/** Ends every run of these workflows and deletes its history. Returns how many runs there were. */
export async function deleteRuns(temporal: Client, workflowIds: readonly string[]): Promise<number> {
  let deleted = 0;
  for (const id of workflowIds) {
    for await (const { workflowId, runId } of temporal.workflow.list({
      query: `WorkflowId = '${id.replaceAll("'", "''")}'`,
    })) {
      await temporal.workflow
        .getHandle(workflowId, runId)
        .terminate('its chat was forgotten')
        .catch((error) => {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        });
      await temporal.workflowService
        .deleteWorkflowExecution({ namespace: temporal.options.namespace, workflowExecution: { workflowId, runId } })
        .catch((error) => {
          if ((error as { code?: number }).code !== NOT_FOUND) throw error;
        });
      deleted += 1;
    }
  }
  return deleted;
}
