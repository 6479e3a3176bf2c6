import { ModelError } from '../../../adapters/model/model.ts';
import { type Breach, breachFigures, nextDay } from '../../../domain/model/budgets.ts';
import { MINUTE } from '../../../domain/time.ts';

/** A restart may have raised the budget: it is looked at this often. */
const LOOK_MS = 10 * MINUTE;

/** The chat's budget of the day is used up. It is waited for like a limit of the model, until midnight UTC. */
export class DayBudgetSpent extends ModelError {
  readonly opensAt: Date;
  readonly breach: Breach;

  constructor(breach: Breach, now: number = Date.now()) {
    const opensAt = nextDay(now);
    super('ModelRateLimited', `The budget for ${breach.budget} is used up: ${breachFigures(breach)}`, {
      retryAfterMs: Math.min(opensAt - now, LOOK_MS),
    });
    this.name = 'DayBudgetSpent';
    this.opensAt = new Date(opensAt);
    this.breach = breach;
  }
}
