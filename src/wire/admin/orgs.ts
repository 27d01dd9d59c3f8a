import { string, object, oneOf, stringOrNull, orNull, titleRule } from '../schema/schema.ts';
import { isoSeconds } from '../../base/clock.ts';
import { nextPeriodStart, type Budget, budgetPeriods, type SpentBudget } from '../../core/budget.ts';
import type { Org } from '../../core/org.ts';
import { formatDollars, parseDollars } from '../../core/price.ts';
import { parseBody, validator } from '../schema/validate.ts';

const nameRule = { ...titleRule, minLength: 1 };
const budget = orNull(
  object(
    {
      // Below 2^53 in nano-dollars.
      amount: string({
        pattern: '^[0-8]?[0-9]{1,6}(\\.[0-9]{1,9})?$',
        expected: 'USD as a decimal string below 9000000, such as "25.00"',
      }),
      period: oneOf(budgetPeriods, { description: 'Per calendar month (UTC), or in total.' }),
    },
    { additionalProperties: false, description: 'Spending limit; null for none.' },
  ),
);

/** Body of `POST /v1/admin/orgs`. */
export const createOrgSchema = object(
  { name: string(nameRule), 'budget?': budget },
  { additionalProperties: false, title: 'CreateOrg' },
);

/** Body of `PATCH /v1/admin/orgs/{id}`: absent fields stay unchanged. */
export const updateOrgSchema = object(
  { 'name?': stringOrNull(nameRule), 'budget?': budget },
  { additionalProperties: false, title: 'UpdateOrg' },
);

interface Body {
  name?: string | null;
  budget?: { amount: string; period: Budget['period'] } | null;
}

/** Fields to set; a null budget removes the limit. */
export interface OrgInput {
  name?: string;
  budget?: Budget | null;
}

const checks = { create: validator(createOrgSchema), update: validator(updateOrgSchema) };

function read(text: string, as: keyof typeof checks): OrgInput {
  const { name, budget: given } = parseBody<Body>(text, checks[as]).value;
  return {
    ...(typeof name === 'string' && { name }),
    ...(given !== undefined && {
      budget: given && { amount: Number(parseDollars(given.amount)), period: given.period },
    }),
  };
}

/** @throws ApiError `validation_error` */
export function parseCreateOrg(text: string): OrgInput & { name: string } {
  return { name: '', ...read(text, 'create') };
}

/** @throws ApiError `validation_error` */
export function parseUpdateOrg(text: string): OrgInput {
  return read(text, 'update');
}

export function presentOrg(org: Org & { budget: SpentBudget | null }, now: number) {
  return {
    id: org.id,
    object: 'org',
    name: org.name,
    created_at: isoSeconds(org.createdAt),
    budget: org.budget && presentBudget(org.budget, now),
  };
}

function presentBudget(spent: SpentBudget, now: number) {
  const again = nextPeriodStart(spent, now);
  return {
    amount: formatDollars(BigInt(spent.amount)),
    period: spent.period,
    spent: formatDollars(BigInt(spent.spent)),
    begins_again_at: again === null ? null : isoSeconds(again),
  };
}
