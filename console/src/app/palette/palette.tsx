import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useSession } from '../../api/session.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { type Entry, moved } from './entries.ts';
import css from './palette.module.css';
import { useEntries } from './use-entries.ts';

/** Pause of the keys after which batches are searched, in milliseconds. */
const pauseMs = 150;

/** Opens screens, batches and orgs by a few letters, and runs actions. */
export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const searched = useDelayed(text, pauseMs);
  const { entries, isSearching } = useEntries(useSession(), { text, searched, onHelp });
  const current = Math.min(active, Math.max(0, entries.length - 1));
  const list = useRef<HTMLDivElement>(null);

  useEffect(() => {
    list.current?.children[current]?.scrollIntoView({ block: 'nearest' });
  }, [current]);

  function run(entry: Entry | undefined): void {
    if (!entry) return;
    onClose();
    entry.run();
  }

  function onKeyDown(event: KeyboardEvent): void {
    const to = moved(event.key, current, entries.length);
    if (to !== undefined) setActive(to);
    else if (event.key === 'Enter') run(entries[current]);
    else return;
    event.preventDefault();
  }

  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        className={css.input}
        type="text"
        role="combobox"
        aria-label="Screen, batch, org or action"
        aria-expanded={entries.length > 0}
        aria-controls="palette-entries"
        aria-activedescendant={entries.length > 0 ? `palette-${current}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        placeholder="Screen, batch, org or action"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id="palette-entries" role="listbox" aria-label="Results" className={css.list}>
        {entries.map((entry, index) => (
          <button
            type="button"
            tabIndex={-1}
            key={entry.id}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === current}
            className={css.entry}
            onClick={() => run(entry)}
            onMouseMove={() => setActive(index)}
          >
            <span className={css.label}>{entry.label}</span>
            <span className={css.note}>
              {entry.note ?? (entry.group === 'Actions' ? 'action' : 'screen')}
            </span>
          </button>
        ))}
      </div>
      {entries.length === 0 && (
        <p role="status" className="quiet">
          {isSearching ? 'Searching …' : 'Nothing found.'}
        </p>
      )}
    </Dialog>
  );
}

/** The last value that stayed the same for a time. */
function useDelayed<T>(value: T, ms: number): T {
  const [delayed, setDelayed] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return delayed;
}
