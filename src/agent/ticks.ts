import { Observable } from 'rxjs';
import type { Clock, StopTimer } from '../base/clock.ts';

/** Emits `value` every `periodMs`, first after one period. */
export function ticks<T>(clock: Clock, periodMs: number, value: T): Observable<T> {
  return new Observable((subscriber) => {
    let stop: StopTimer;
    const arm = (): void => {
      stop = clock.timer(periodMs, () => {
        arm();
        subscriber.next(value);
      });
    };
    arm();
    return () => {
      stop();
    };
  });
}
