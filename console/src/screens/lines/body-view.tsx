import { CopyButton } from '../../parts/copy-button.tsx';
import css from './lines.module.css';
import type { Turn } from './turns.ts';

interface BodyViewProps {
  title: string;
  turns: readonly Turn[];
  body: unknown;
  isJson: boolean;
  /** Shown where there is no body. */
  missing: string;
}

/** Request or answer of a line, as texts or as JSON. */
export function BodyView({ title, turns, body, isJson, missing }: BodyViewProps) {
  const json = body === null || body === undefined ? '' : JSON.stringify(body, null, 2);
  return (
    <section className={css.pane} aria-label={title}>
      <div className={css.paneHead}>
        <h3>{title}</h3>
        {json !== '' && <CopyButton text={json} what={`the ${title.toLowerCase()} as JSON`} />}
      </div>
      <div className={css.paneBody} tabIndex={0}>
        {json === '' ? (
          <p className="quiet">{missing}</p>
        ) : isJson ? (
          <pre>{json}</pre>
        ) : (
          turns.map(({ role, text }, at) => (
            <div key={at} className={css.turn}>
              <span className={css.role}>{role}</span>
              <pre className={css.text}>{pretty(text)}</pre>
            </div>
          ))
        )}
      </div>
    </section>
  );
}

/** Objects and lists in JSON, indented. */
function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text) || text.length > 200_000) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
