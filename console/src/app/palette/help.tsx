import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import css from './palette.module.css';

const keys: readonly [keys: readonly string[], meaning: string][] = [
  [['Ctrl', 'K'], 'Go to a screen, batch or org, or run an action (⌘ K on a Mac)'],
  [['/'], 'Search on this screen'],
  [['j'], 'Next row of a table'],
  [['k'], 'Previous row of a table'],
  [['Enter'], 'Open the row'],
  [['x'], 'Select the row, where rows can be selected'],
  [['←', '→'], 'Move along a chart; with Shift mark a part, which Enter chooses'],
  [['p'], 'Pause or resume the updates of the screen'],
  [['Ctrl', 'Enter'], 'Send the request of the playground'],
  [['Esc'], 'Close a dialog'],
  [['?'], 'This help'],
];

/** Keys of the console. */
export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <dl className={css.keys}>
        {keys.map(([names, meaning]) => (
          <div key={meaning}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
