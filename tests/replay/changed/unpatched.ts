import { sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** The same change as a defect: without a patch. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      async scheduleActivity(input, next) {
        if (input.activityType === 'deliver') await sleep(1);
        return await next(input);
      },
    },
  ],
});
