import { useQuery } from '@tanstack/react-query';
import { warningText } from '../../../../src/wire/shared/field-warnings.ts';
import { modelsQuery } from '../../api/models.ts';
import { compact, count } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';
import { bytes } from '../../parts/bytes.ts';
import type { Column } from '../../parts/column.ts';
import { Table } from '../../parts/table.tsx';
import type { Fault } from '../../../../src/core/errors.ts';
import type { CheckReport } from './check-input.ts';
import { NamedFact } from '../../parts/facts.tsx';
import css from './new-batch.module.css';
import type { Check } from './use-check.ts';

/** Progress and result of the check: what the file has, and its faults with line and field. */
export function CheckResult({ file, check: { report, isDone, error } }: { file: File; check: Check }) {
  if (error !== null) return <State kind="failed">{error}</State>;
  if (!report) return <p role="status">Reading the file.</p>;
  return (
    <section aria-label="Check" className={css.stack}>
      <div role="status">
        <State kind={isDone ? (report.faultCount === 0 ? 'done' : 'failed') : 'running'}>
          {isDone ? verdict(report) : `Checked ${bytes(report.bytes)} of ${bytes(file.size)}`}
        </State>
      </div>
      {!isDone && <progress max={Math.max(1, file.size)} value={report.bytes} aria-label="Checked bytes" />}
      <dl className="facts">
        <NamedFact name="Requests">{count(report.requests)}</NamedFact>
        <NamedFact name="Endpoint">{report.endpoint ?? '–'}</NamedFact>
        <NamedFact name="Models">{modelsText(report)}</NamedFact>
        <NamedFact name="Estimated tokens">{compact(report.tokens)}</NamedFact>
        {report.parts.length > 1 && (
          <NamedFact name="Batches">
            {report.parts.length}, because a batch has at most 10,000 requests and 32 MB
          </NamedFact>
        )}
      </dl>
      {isDone && <UnknownModels names={Object.keys(report.models)} />}
      {report.faultCount > 0 && <Faults report={report} />}
      <Warnings report={report} />
    </section>
  );
}

/** Names of models that the server does not have: it would reject the upload. */
function UnknownModels({ names }: { names: readonly string[] }) {
  const { data: models } = useQuery(modelsQuery);
  const known = new Set(models?.data.flatMap(({ id, aliases }) => [id, ...aliases]));
  const unknown = names.filter((name) => !known.has(name));
  if (!models || unknown.length === 0) return null;
  const offered = models.data.map(({ id }) => id).join(', ');
  return (
    <State kind="warning">
      {`This server has no model ${unknown.join(', ')}. Its models: ${offered === '' ? 'none' : offered}.`}
    </State>
  );
}

function verdict({ faultCount }: CheckReport): string {
  if (faultCount === 0) return 'The file is valid.';
  return faultCount === 1 ? 'The file has a fault.' : `The file has ${count(faultCount)} faults.`;
}

function modelsText({ models }: CheckReport): string {
  const names = Object.entries(models);
  if (names.length === 0) return '–';
  if (names.length === 1) return names[0]![0];
  return names.map(([name, requests]) => `${name} (${count(requests)})`).join(', ');
}

/** Fields that no API has, such as misspelt parameters. The requests run without them. */
function Warnings({ report: { warnings } }: { report: CheckReport }) {
  return (
    warnings.length > 0 && (
      <ul aria-label="Warnings" className={css.warnings}>
        {warnings.map((warning) => (
          <li key={warning.field}>
            <State kind="warning">{warningText(warning)}</State>
          </li>
        ))}
      </ul>
    )
  );
}

const faultColumns: readonly Column<Fault>[] = [
  { id: 'line', header: 'Line', width: 72, cell: ({ line }) => line },
  { id: 'custom_id', header: 'custom_id', width: 140, cell: ({ custom_id: id }) => id },
  { id: 'field', header: 'Field', width: 170, cell: ({ param }) => <code>{param}</code> },
  { id: 'fault', header: 'Fault', cell: ({ message }) => message },
];

function Faults({ report: { faults, faultCount } }: { report: CheckReport }) {
  return (
    <>
      <Table
        caption="Faults of the file"
        columns={faultColumns}
        rows={faults}
        rowId={(fault) => `${faults.indexOf(fault)}`}
      />
      {faultCount > faults.length && <p>and {count(faultCount - faults.length)} more</p>}
    </>
  );
}
