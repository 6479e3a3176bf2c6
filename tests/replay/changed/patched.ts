import { patched, sleep, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

/**
 * Stands for the next release: before each send there is a timer, behind a patch as every change of commands must be.
 */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      async scheduleActivity(input, next) {
        if (input.activityType === 'deliver' && patched('2026-11-timer-before-send')) await sleep(1);
        return await next(input);
      },
    },
  ],
});
