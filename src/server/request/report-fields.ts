import type { FieldWarning } from '../../core/field-warning.ts';
import { unknownFieldFault, findUnknownFields } from '../../wire/schema/unknown-fields.ts';
import { faultsError, type ReportFields } from '../../wire/schema/validate.ts';
import type { Services } from '../route.ts';

interface ReportOptions {
  /** Called with the unknown fields of a request, if there are any. */
  onWarnings: (warnings: readonly FieldWarning[]) => void;
  /** Known fields besides those of the format. */
  extra?: readonly string[];
}

/** Reports the unknown fields of a single request, or rejects it where the configuration is strict. */
export function reportFields(
  { catalog, strictFields }: Pick<Services, 'catalog' | 'strictFields'>,
  { onWarnings, extra = [] }: ReportOptions,
): ReportFields {
  return (body, known) => {
    const unknown = findUnknownFields(body, known(), {
      extra: () => [...extra, ...(catalog.find((body as { model: string }).model)?.extraFields ?? [])],
    });
    if (unknown.length === 0) return;
    if (strictFields) throw faultsError(unknown.map(unknownFieldFault));
    onWarnings(unknown.map((field) => ({ code: 'unknown_field', ...field, count: 1, line: null })));
  };
}
