import { omitNullish } from '../../base/fields.ts';
import { string, object, stringOrNull, titleRule, booleanOrNull, integerOrNull } from '../schema/schema.ts';
import { isoSeconds } from '../../base/clock.ts';
import type { SpentBudget } from '../../core/budget.ts';
import { type NewOrg, type Org, type OrgChanges, weights } from '../../core/org.ts';
import { orgSettings } from '../../core/settings.ts';
import { nullable } from '../shared/instant.ts';
import { parseBody, validator } from '../schema/validate.ts';
import { type BudgetBody, budgetSchema, presentBudget, readBudget } from './budget.ts';
import { type LimitsBody, limitsSchema, readLimits } from './limits.ts';

/** An org is found by its name, so it must be visible. */
const nameRule = {
  ...titleRule,
  minLength: 1,
  pattern: titleRule.pattern.replace('^', '^(?=\\s*\\S)'),
  expected: 'a string of up to 200 characters of valid Unicode, not only spaces, without control characters',
};
const settings = {
  'budget?': budgetSchema,
  'limits?': limitsSchema,
  'weight?': integerOrNull({
    minimum: weights.min,
    maximum: weights.max,
    description: 'Share of the slots relative to other orgs; 1 for a new org.',
  }),
  'disabled?': booleanOrNull({
    description: 'True refuses the requests of the org and makes its batches wait, until it is enabled.',
  }),
};

/** Body of `POST /v1/admin/orgs`. */
export const createOrgSchema = object(
  { name: string(nameRule), ...settings },
  { additionalProperties: false, title: 'CreateOrg' },
);

/** Body of `PATCH /v1/admin/orgs/{id}`: absent fields stay unchanged. */
export const updateOrgSchema = object(
  { 'name?': stringOrNull(nameRule), ...settings },
  { additionalProperties: false, title: 'UpdateOrg' },
);

interface Body {
  name?: string | null;
  budget?: BudgetBody;
  limits?: LimitsBody;
  weight?: number | null;
  disabled?: boolean | null;
}

const checks = { create: validator(createOrgSchema), update: validator(updateOrgSchema) };

function read(text: string, as: keyof typeof checks): OrgChanges {
  const { name, budget: given, limits, weight, disabled } = parseBody<Body>(text, checks[as]).value;
  return {
    ...omitNullish({ name, weight, disabled }),
    ...(limits !== undefined && { limits: readLimits(limits) }),
    ...(given !== undefined && { budget: readBudget(given) }),
  };
}

/** @throws ApiError `validation_error` */
export function parseCreateOrg(text: string): NewOrg {
  return { name: '', ...read(text, 'create') };
}

/** @throws ApiError `validation_error` */
export function parseUpdateOrg(text: string): OrgChanges {
  return read(text, 'update');
}

export function presentOrg(org: Org & { budget: SpentBudget | null }, now: number) {
  return {
    id: org.id,
    object: 'org',
    created_at: isoSeconds(org.createdAt),
    ...orgSettings(org),
    disabled_at: nullable(isoSeconds)(org.disabledAt),
    budget: org.budget && presentBudget(org.budget, now),
  };
}
