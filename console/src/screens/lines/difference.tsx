import { diffWords } from './diff.ts';
import css from './lines.module.css';
import { lineState } from './line-state.ts';
import type { DetailWithTexts } from './queries.ts';
import { answerTurns } from './turns.ts';

type Original = NonNullable<DetailWithTexts['original']>;

/** Changes by a retry: the state, and the words of the answer. */
export function Difference({ line, original }: { line: DetailWithTexts; original: Original }) {
  const [before, after] = [textOf(original.output), textOf(line.output)];
  const parts = before !== '' && after !== '' ? diffWords(before, after) : null;
  return (
    <section aria-label="Difference to the original">
      <h3>What the retry changed</h3>
      <p>
        Line {original.line} of <code>{original.batch_id}</code>: {outcome(original)} → {outcome(line)}
      </p>
      {original.error && <p className="quiet">{original.error.message}</p>}
      {parts && (
        <pre className={css.text}>
          {parts.map(({ kind, text }, at) =>
            kind === 'same' ? (
              <span key={at}>{text}</span>
            ) : kind === 'removed' ? (
              <del key={at}>{text}</del>
            ) : (
              <ins key={at}>{text}</ins>
            ),
          )}
        </pre>
      )}
    </section>
  );
}

function outcome({ state, error }: Pick<DetailWithTexts, 'state' | 'error'>): string {
  return error ? error.code : lineState[state].word.toLowerCase();
}

function textOf(output: DetailWithTexts['output']): string {
  return answerTurns(output)
    .map(({ text }) => text)
    .join('\n');
}
