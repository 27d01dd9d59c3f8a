import { Button } from '../../parts/button.tsx';
import type { Turn } from './draft.ts';
import css from './playground.module.css';

interface TurnsProps {
  turns: readonly Turn[];
  fault: string | undefined;
  onChange: (turns: readonly Turn[]) => void;
}

/** Messages of the conversation, in their order. */
export function Turns({ turns, fault, onChange }: TurnsProps) {
  const change = (id: number, changes: Partial<Turn>) =>
    onChange(turns.map((turn) => (turn.id === id ? { ...turn, ...changes } : turn)));
  return (
    <fieldset className={css.turns} aria-describedby="turns-fault">
      <legend>Messages</legend>
      {turns.map(({ id, role, text }, index) => (
        <div key={id} className={css.turn}>
          <div className={css.turnHead}>
            <select
              aria-label={`Role of message ${index + 1}`}
              value={role}
              onChange={({ target }) =>
                change(id, { role: target.value === 'assistant' ? 'assistant' : 'user' })
              }
            >
              <option value="user">User</option>
              <option value="assistant">Assistant</option>
            </select>
            {turns.length > 1 && (
              <Button
                kind="quiet"
                aria-label={`Remove message ${index + 1}`}
                onClick={() => onChange(turns.filter((turn) => turn.id !== id))}
              >
                Remove
              </Button>
            )}
          </div>
          <textarea
            aria-label={`Message ${index + 1}`}
            rows={4}
            value={text}
            placeholder={index === 0 ? 'What is the capital of France?' : undefined}
            onChange={({ target }) => change(id, { text: target.value })}
          />
        </div>
      ))}
      <p id="turns-fault" className={css.fault}>
        {fault}
      </p>
      <Button onClick={() => onChange(withTurn(turns))}>Add a message</Button>
    </fieldset>
  );
}

/** The turns and one more, of the other role than the last. */
export function withTurn(turns: readonly Turn[], text = ''): readonly Turn[] {
  const id = Math.max(-1, ...turns.map((turn) => turn.id)) + 1;
  return [...turns, { id, role: turns.at(-1)?.role === 'user' ? 'assistant' : 'user', text }];
}
