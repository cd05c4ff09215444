import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Manager } from '../controller/manager/manager.ts';

/** What every controller works with. */
export interface ControllerContext {
  readonly manager: Manager;
  readonly clock: Clock;
  readonly random: Random;
  /** Returns the recorder of Events of a component, e.g. `deployment-controller`. */
  readonly recorder: (component: string) => EventRecorder;
}
