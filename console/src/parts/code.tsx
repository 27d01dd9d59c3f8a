import css from './code.module.css';
import { CopyButton } from './copy-button.tsx';

/** A command or a text to copy, under a label. */
export function Code({ label, text }: { label: string; text: string }) {
  return (
    <figure className={css.code}>
      <figcaption className={css.head}>
        <span>{label}</span>
        <CopyButton text={text} what={label} />
      </figcaption>
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </figure>
  );
}
