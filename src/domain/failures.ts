/**
 * The closed vocabulary of failures: the `type` that an operator reads in the Temporal Web UI, the sentence for the
 * person, and whether a retry can help. Adapters classify into it; nothing else invents a type.
 */
export const failures = {
  ModelUnauthorized: {
    retry: false,
    tell: 'The key for the model was refused. Put in another one on my page, under Settings, Model.',
  },
  ModelPaymentRequired: {
    retry: false,
    tell: 'The account at the model provider has no credit left. Add some there, or choose another model on my page, under Settings, Model.',
  },
  ModelNotFound: {
    retry: false,
    tell: 'The provider does not have this model. Choose another one on my page, under Settings, Model.',
  },
  ModelRejected: {
    retry: false,
    tell: 'The model rejected the request, and would again. Another model may take it: choose one on my page, under Settings, Model.',
  },
  ContextOverflow: {
    retry: false,
    tell: 'The instructions, the tools and your last message together are longer than this model accepts. A model with a larger context can answer.',
  },
  ModelRateLimited: {
    retry: true,
    tell: 'The model is at a limit for longer than I wait. What was done is kept: write again later.',
  },
  ModelUnavailable: {
    retry: true,
    tell: 'The model gave no answer for too long. What was done is kept: write again when it is back.',
  },
  ModelStreamBroken: {
    retry: true,
    tell: 'The answer of the model broke off again and again. What was done is kept: write again to go on.',
  },
  BudgetExceeded: { retry: false, tell: 'A budget is used up.' },
  StoreUnavailable: { retry: true, tell: 'The database does not answer.' },
  ChannelUnavailable: { retry: true, tell: 'The channel does not take messages now.' },
  KennelUnavailable: { retry: true, tell: 'The containers of this host cannot be used now.' },
  KennelFull: { retry: true, tell: 'Every slot of this host is taken.' },
  StepFailed: { retry: false, tell: 'A step of the routine did not succeed.' },
  NotFound: { retry: false, tell: 'A record that this step needs is gone.' },
  Internal: { retry: true, tell: 'Something went wrong inside.' },
} as const satisfies Record<string, { retry: boolean; tell: string }>;

export type FailureType = keyof typeof failures;
export const isFailureType = (type: string): type is FailureType => Object.hasOwn(failures, type);
export const nonRetryableTypes: string[] = Object.entries(failures).flatMap(([type, failure]) =>
  failure.retry ? [] : [type],
);

/** The text for a call or routine step that must not run twice, when nobody knows whether it ran. */
export const unknownOutcome = (what: 'call' | 'step'): string =>
  `The outcome of this ${what} is unknown: the process that ran it died before it ended. It may or may not have happened and is not run again by itself.`;
