import { useQuery } from '@tanstack/react-query';
import { warningText } from '../../../../src/wire/shared/field-warnings.ts';
import { modelsQuery } from '../../api/models.ts';
import { compact, count } from '../../parts/format.ts';
import { State } from '../../parts/state.tsx';
import { bytes } from '../../parts/bytes.ts';
import type { CheckReport } from './check-input.ts';
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
        <Fact name="Requests" value={count(report.requests)} />
        <Fact name="Endpoint" value={report.endpoint ?? '–'} />
        <Fact name="Models" value={modelsText(report)} />
        <Fact name="Estimated tokens" value={compact(report.tokens)} />
        {report.parts.length > 1 && (
          <Fact
            name="Batches"
            value={`${report.parts.length}, because a batch has at most 10,000 requests and 32 MB`}
          />
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

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
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

function Faults({ report: { faults, faultCount } }: { report: CheckReport }) {
  return (
    <div className={css.faults} tabIndex={0} role="region" aria-label="Faults of the file">
      <table>
        <caption className="visually-hidden">Faults</caption>
        <thead>
          <tr>
            <th scope="col">Line</th>
            <th scope="col">custom_id</th>
            <th scope="col">Field</th>
            <th scope="col">Fault</th>
          </tr>
        </thead>
        <tbody>
          {faults.map(({ line, custom_id: id, param, message }, at) => (
            <tr key={at}>
              <td>{line ?? ''}</td>
              <td>{id ?? ''}</td>
              <td>
                <code>{param ?? ''}</code>
              </td>
              <td>{message}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {faultCount > faults.length && <p>and {count(faultCount - faults.length)} more</p>}
    </div>
  );
}
