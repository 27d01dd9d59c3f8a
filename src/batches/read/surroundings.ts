import type { Accounts } from '../../accounts/accounts.ts';
import { waitingFor } from '../../core/waiting.ts';
import type { Generate } from '../../generate/generate.ts';
import type { MissingModels } from '../missing-models.ts';
import type { OpenHours } from '../open-hours.ts';
import type { Surroundings } from './waiting.ts';

export interface SurroundingsParts {
  budgets: Pick<Accounts['budgets'], 'waiting'>;
  generate: Pick<Generate, 'catalog' | 'fleet' | 'room' | 'waiting'>;
  missing: Pick<MissingModels, 'waiting'>;
  hours: Pick<OpenHours, 'waiting'>;
}

/** What batches may wait for: a model waits only where neither this process nor another one sends its requests. */
export function surroundingsOf({ budgets, generate, missing, hours }: SurroundingsParts): Surroundings {
  const { catalog, fleet } = generate;
  const causeOf = (name: string) =>
    catalog.find(name) ? generate.waiting(catalog.idOf(name)) : fleet.othersWait(name);

  return {
    budget: (orgId) => budgets.waiting(orgId),
    waiting(name) {
      const cause = missing.waiting(name) ?? (fleet.othersSend(name) ? null : causeOf(name));
      return hours.waiting(name) ?? (cause && waitingFor(cause));
    },
    room(name) {
      const id = catalog.idOf(name);
      const isHere = catalog.find(name) !== undefined && generate.waiting(id) === null;
      // Nobody here knows how much room others have.
      return !isHere && fleet.othersSend(name) ? Number.POSITIVE_INFINITY : generate.room(id);
    },
  };
}
