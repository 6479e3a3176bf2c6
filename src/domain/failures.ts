/**
 * The closed vocabulary of failures: what an operator reads as `type` in the Temporal Web UI, what the person is told,
 * and whether trying again can help. Adapters classify into it; nothing else invents a type.
 */
export const failures = {
  ModelUnauthorized: { retry: false, tell: 'The model endpoint refused the key. Check OPENAI_API_KEY or OPENROUTER_API_KEY.' },
  ModelPaymentRequired: { retry: false, tell: 'The model account has no credit left.' },
  ModelNotFound: { retry: false, tell: 'The model endpoint does not know this model. Check AGENT_MODEL and OPENAI_BASE_URL.' },
  ModelRejected: { retry: false, tell: 'The model endpoint rejected the request.' },
  ContextOverflow: { retry: false, tell: 'The conversation is too long for this model, also after it was summed up.' },
  ModelRateLimited: { retry: true, tell: 'The model endpoint asks to slow down.' },
  ModelUnavailable: { retry: true, tell: 'The model endpoint does not answer.' },
  ModelStreamBroken: { retry: true, tell: 'The answer of the model broke off.' },
  BudgetExceeded: { retry: false, tell: 'A budget is used up.' },
  StoreUnavailable: { retry: true, tell: 'The database does not answer.' },
  ChannelUnavailable: { retry: true, tell: 'The channel does not take messages now.' },
  KennelUnavailable: { retry: true, tell: 'The containers of this host cannot be used now.' },
  KennelFull: { retry: true, tell: 'Every place of this host is taken.' },
  StepFailed: { retry: false, tell: 'A step of the workflow did not succeed.' },
  NotFound: { retry: false, tell: 'A record that this step needs is gone.' },
  Internal: { retry: true, tell: 'Something went wrong inside.' },
} as const satisfies Record<string, { retry: boolean; tell: string }>;

export type FailureType = keyof typeof failures;
export const isFailureType = (type: string): type is FailureType => Object.hasOwn(failures, type);
export const nonRetryableTypes: string[] = Object.entries(failures).flatMap(([type, failure]) => (failure.retry ? [] : [type]));
