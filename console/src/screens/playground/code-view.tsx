import { serverUrl } from '../../api/base.ts';
import { Code } from '../../parts/code.tsx';
import { codeFor } from './code.ts';
import { Segments } from '../../parts/segments.tsx';
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
      <Segments
        label="Language"
        segments={languages.map((name) => ({
          label: labels[name],
          isOn: name === language,
          onChoose: () => onLanguage(name),
        }))}
      />
      <Code label={labels[language]} text={codeFor(language, { origin: serverUrl(), format, body })} />
    </div>
  );
}
