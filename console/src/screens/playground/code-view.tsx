import { serverUrl } from '../../api/base.ts';
import { Code } from '../../parts/code.tsx';
import { codeFor } from './code.ts';
import css from './playground.module.css';
import { type Format, type Language, languages } from './search.ts';

const labels: Readonly<Record<Language, string>> = {
  curl: 'curl',
  python: 'Python',
  javascript: 'JavaScript',
};

interface CodeViewProps {
  language: Language;
  format: Format;
  body: Record<string, unknown>;
  onLanguage: (language: Language) => void;
}

/** Program that sends the same request. */
export function CodeView({ language, format, body, onLanguage }: CodeViewProps) {
  return (
    <div className={css.code}>
      <fieldset className={css.languages}>
        <legend className="visually-hidden">Language</legend>
        {languages.map((name) => (
          <label key={name} className={css.language}>
            <input
              type="radio"
              name="language"
              className="visually-hidden"
              checked={name === language}
              onChange={() => onLanguage(name)}
            />
            {labels[name]}
          </label>
        ))}
      </fieldset>
      <Code label={labels[language]} text={codeFor(language, { origin: serverUrl(), format, body })} />
    </div>
  );
}
