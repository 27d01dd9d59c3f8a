import type { Checker, SourceValue } from './source-value.ts';
import {
  failureStatuses,
  finishReasons,
  type Flavor,
  flavors,
  type CustomFailure,
  type CustomTraits,
  usageFigures,
} from '../core/flavor.ts';
import { headerName } from './headers.ts';
import { configKeys } from './keys.ts';
import { omitUndefined } from './context.ts';

/** A known flavor, or custom traits on top of one. */
export function flavorOf(
  at: SourceValue | undefined,
  check: Checker,
): { flavor: Flavor | null; ownTraits?: CustomTraits } {
  if (!(at?.value instanceof Map)) return { flavor: check.choice(at, flavors) ?? null };
  const fields = check.object(at, configKeys.flavor);
  const list = (each: SourceValue | undefined, pattern?: RegExp) =>
    (check.list(each) ?? []).flatMap((item) => memberName(item, check, pattern) ?? []);
  const header = fields.auth_header && headerName(fields.auth_header, check);
  const scheme = check.word(fields.auth_scheme);
  const usage = check.object(fields.usage, usageFigures);
  return {
    flavor: check.choice(fields.like, flavors) ?? 'generic',
    ownTraits: {
      paths: omitUndefined({
        chat: path(fields.chat_path, check),
        embeddings: path(fields.embeddings_path, check),
        rerank: path(fields.rerank_path, check),
        score: path(fields.score_path, check),
        moderations: path(fields.moderations_path, check),
      }),
      ...(header !== undefined
        ? { auth: { header, scheme: scheme ? `${scheme} ` : '' } }
        : scheme !== undefined && { auth: { scheme: `${scheme} ` } }),
      fields: list(fields.fields),
      names: pairs(fields.rename, check, (each) => memberName(each, check)),
      without: list(fields.drop, /^(?:messages\.)?\w{1,64}$/),
      usage: Object.fromEntries(
        usageFigures.flatMap((name) => {
          const place = check.text(usage[name]);
          return place === undefined ? [] : [[name, place.split('.')]];
        }),
      ),
      finish: pairs(fields.finish, check, (each) => check.choice(each, finishReasons)),
      effort: fields.effort && pairs(fields.effort, check, (each) => check.text(each)),
      failures: (check.list(fields.failures) ?? []).flatMap((each) => failure(each, check) ?? []),
    },
  };
}

function failure(at: SourceValue, check: Checker): CustomFailure | undefined {
  const fields = check.object(at, configKeys.failures);
  const [code, says] = [check.text(fields.code), check.text(fields.says)];
  const status = check.whole(fields.status, { min: 400, max: 599 });
  const meant = check.whole(fields.means);
  if (code === undefined && says === undefined && status === undefined)
    return check.fail(at, 'has no condition', 'Give a status, a code, or the start of the message (says).');
  const means = failureStatuses.find((each) => each === meant);
  const isAccountFailure = means === 401 || means === 402 || means === 403;
  if (isAccountFailure && code === undefined && says === undefined && ![401, 402, 403].includes(status ?? 0))
    return check.fail(
      at,
      'also matches errors of single requests, but 401, 402 and 403 pause the model for everyone',
      'Add a code, or the beginning of the message (says).',
    );
  if (means === undefined)
    return check.fail(fields.means ?? at, `means must be one of ${failureStatuses.join(', ')}`);
  return omitUndefined({ status, code, says, means });
}

function path(at: SourceValue | undefined, check: Checker): string | undefined {
  const found = check.text(at);
  if (at === undefined || found === undefined) return found;
  checkPlaceholders(at, found, check);
  if (/^\/[^\s?#]*$/.test(found)) return found;
  return check.fail(at, 'must begin with / and have no query', 'For example /v2/{model}/chat.');
}

/** Rejects placeholders other than `{model}`. */
export function checkPlaceholders(at: SourceValue, address: string, check: Checker): void {
  const other = address.match(/\{(?!model\})[^{}]*\}/)?.[0];
  if (other !== undefined) check.fail(at, `unknown placeholder ${other}`, 'Only {model} is replaced.');
}

function pairs<T extends string>(
  at: SourceValue | undefined,
  check: Checker,
  read: (field: SourceValue) => T | undefined,
): Record<string, T> {
  if (at === undefined) return {};
  if (!(at.value instanceof Map)) {
    check.fail(at, 'expected an object of names');
    return {};
  }
  return Object.fromEntries(
    [...at.value].flatMap(([name, field]) => {
      const value = read(field);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Name of a request field. */
export function memberName(at: SourceValue, check: Checker, pattern = /^[A-Za-z_][\w-]{0,63}$/) {
  const found = check.text(at);
  if (found === undefined || pattern.test(found)) return found;
  return check.fail(at, 'must be the name of a request field', 'For example service_tier.');
}
