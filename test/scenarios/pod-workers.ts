import { settle } from '../../src/base/fake-clock.ts';
import { messageOf } from '../../src/base/errors.ts';
import { killPodNow } from '../../src/podworkers/kill-pod.ts';
import { emptyStatus } from '../../src/pleg/pod-cache.ts';
import type { KillPodOptions, UpdatePodOptions, UpdateType } from '../../src/podworkers/updates.ts';
import { testPod, WorkersBench } from '../podworkers/bench.ts';
import type { Machine } from './format.ts';

/** `name=value` or a bare `name` after the words of a command. */
type Flags = Readonly<Record<string, string>>;

const help = `commands:
  create|update|sync|kill UID [name=N] [static] [phase=P] [deleting[=SECONDS]] [spec=SECONDS] [grace=SECONDS] [evict] [completed=NAME]
  kill-now UID [grace=SECONDS] …   the blocking kill
  runtime-kill UID                 what only the runtime knows is killed
  turn UID                         the worker takes its turn
  end UID [terminal] [error=TEXT] [back-off=SECONDS]   the open step ends
  settle                           all turns and steps, each ending well
  housekeep [UID…]                 these UIDs are desired
  runtime UID running|idle         what the runtime cache says
  wait SECONDS · due · ask UID · restart`;

/** Pod workers in slow motion: every turn and every step waits for a command. */
export class PodWorkersMachine implements Machine {
  readonly #bench = new WorkersBench();
  readonly #idle = new Set<string>();
  #printed: string[] = [];
  #lines = new Map<string, string>();
  #delays = 0;
  #events = 0;

  constructor() {
    this.#bench.onStep = ({ uid, method, gracePeriodSeconds }) => {
      const grace = gracePeriodSeconds === undefined ? '' : ` with ${gracePeriodSeconds} s of grace`;
      this.#printed.push(`${uid} begins ${method}${grace}`);
    };
    this.#bench.runtimeStatus = (uid) =>
      this.#idle.has(uid)
        ? emptyStatus(uid)
        : {
            ...emptyStatus(uid),
            sandboxStatuses: [{ id: 's', state: 'SANDBOX_READY', attempt: 0, createdAt: 0, networkMode: 'POD' }],
          };
  }

  async perform(command: string): Promise<readonly string[]> {
    const [verb = '', ...rest] = command.split(' ').filter(Boolean);
    const words = rest.filter((word) => !/=|^(static|evict|deleting|terminal)$/.test(word));
    const flags: Flags = Object.fromEntries(
      rest.filter((word) => !words.includes(word)).map((word) => (word.includes('=') ? word : `${word}=`).split('=')),
    ) as Flags;
    this.#printed = [];
    await this.#act(verb, words, flags);
    await settle();
    this.#printEffects();
    this.#printStates();
    return this.#printed.length > 0 ? this.#printed : ['nothing'];
  }

  async #act(verb: string, words: readonly string[], flags: Flags): Promise<void> {
    const { workers } = this.#bench;
    const [uid = ''] = words;
    switch (verb) {
      case 'create':
      case 'update':
      case 'sync':
      case 'kill':
        workers.updatePod(this.#update(verb, uid, flags));
        return;
      case 'kill-now':
        this.#killNow(uid, flags);
        return;
      case 'runtime-kill': {
        const runningPod = { uid, name: uid, namespace: 'ns', containers: [], sandboxes: [] };
        workers.updatePod({ type: 'kill', runningPod, ...this.#kill(flags) });
        return;
      }
      case 'housekeep':
        this.#housekeep(words);
        return;
      case 'ask':
        this.#ask(uid);
        return;
      case 'restart':
        this.#bench.restart();
        this.#lines.clear();
        this.#printed.push('the agent has an empty memory');
        return;
      default:
        await this.#move(verb, words, flags);
    }
  }

  async #move(verb: string, [uid = '', argument = '']: readonly string[], flags: Flags): Promise<void> {
    switch (verb) {
      case 'turn':
        if (!(await this.#bench.turn(uid))) this.#printed.push(`${uid} is not due`);
        return;
      case 'end': {
        const step = this.#bench.steps.get(uid);
        this.#bench.steps.delete(uid);
        step?.end({ terminal: 'terminal' in flags, ...this.#error(flags) });
        return;
      }
      case 'settle':
        await this.#bench.drain();
        return;
      case 'runtime':
        if (argument === 'idle') this.#idle.add(uid);
        else this.#idle.delete(uid);
        return;
      case 'wait':
        await this.#bench.clock.advance(Number(uid) * 1000);
        return;
      case 'due':
        this.#printed.push(`due: ${this.#bench.queue.getWork().sort().join(' ') || 'nothing'}`);
        return;
      default:
        throw new Error(`unknown command "${verb}"\n${help}`);
    }
  }

  #error(flags: Flags): { error?: Error } {
    if (!('error' in flags) && !('back-off' in flags)) return {};
    const error = new Error((flags['error'] ?? 'back-off').replaceAll('_', ' '));
    if (!('back-off' in flags)) return { error };
    const backOffUntil = this.#bench.clock.now() + Number(flags['back-off']) * 1000;
    return { error: Object.assign(error, { backOffUntil }) };
  }

  #pod(uid: string, flags: Flags) {
    return testPod({
      uid,
      name: flags['name'] ?? uid,
      isStatic: 'static' in flags,
      phase: (flags['phase'] ?? 'Running') as 'Running',
      terminationGracePeriodSeconds: Number(flags['spec'] ?? 30),
      ...('deleting' in flags && { deletionGracePeriodSeconds: Number(flags['deleting'] || 30) }),
    });
  }

  #update(type: UpdateType, uid: string, flags: Flags): UpdatePodOptions {
    return { type, pod: this.#pod(uid, flags), ...this.#kill(flags) };
  }

  #kill(flags: Flags): { kill?: KillPodOptions } {
    const { grace, completed } = flags;
    if (grace === undefined && completed === undefined && !('evict' in flags)) return {};
    return {
      kill: {
        evict: 'evict' in flags,
        ...(grace !== undefined && { gracePeriodSeconds: Number(grace) }),
        ...(completed !== undefined && { completed: () => this.#printed.push(`${completed} is told`) }),
      },
    };
  }

  #killNow(uid: string, flags: Flags): void {
    const { clock, workers, events } = this.#bench;
    const recorder = {
      event: (_object: object, type: string, reason: string, message: string) =>
        events.push(`${type} ${reason} ${message}`),
    };
    const { kill = {} } = this.#kill(flags);
    killPodNow({ clock, recorder, workers }, this.#pod(uid, flags), kill).then(
      () => this.#printed.push(`kill-now of ${uid} returns`),
      (reason: unknown) => this.#printed.push(`kill-now of ${uid} fails: ${messageOf(reason)}`),
    );
  }

  #housekeep(desired: readonly string[]): void {
    const known = this.#bench.workers.syncKnownPods(desired.map((uid) => ({ metadata: { uid } })));
    for (const [uid, sync] of known) {
      const words = [sync.orphan ? 'orphan' : '', sync.hasConfig ? '' : 'runtime only', sync.static ? 'static' : ''];
      this.#printed.push([`left: ${uid} ${sync.state}`, ...words.filter(Boolean)].join(', '));
    }
  }

  #ask(uid: string): void {
    const { workers } = this.#bench;
    const answers: Readonly<Record<string, boolean>> = {
      'could have running containers': workers.couldHaveRunningContainers(uid),
      'containers should be terminating': workers.shouldPodContainersBeTerminating(uid),
      'runtime should be removed': workers.shouldPodRuntimeBeRemoved(uid),
      'content should be removed': workers.shouldPodContentBeRemoved(uid),
      'should be finished': workers.shouldPodBeFinished(uid),
      'termination requested': workers.isPodTerminationRequested(uid),
      'known terminated': workers.isPodKnownTerminated(uid),
    };
    for (const [question, answer] of Object.entries(answers)) this.#printed.push(`${answer ? 'yes' : 'no '} ${question}`);
  }

  #printEffects(): void {
    const { delays, events } = this.#bench;
    for (const ms of delays.slice(this.#delays)) this.#printed.push(`next look in ${ms / 1000} s`);
    for (const event of events.slice(this.#events)) this.#printed.push(`Event ${event}`);
    this.#delays = delays.length;
    this.#events = events.length;
  }

  /** One line for each UID whose state changed. */
  #printStates(): void {
    const lines = new Map([...this.#bench.workers.uids()].map((uid) => [uid, this.#line(uid)]));
    for (const [uid, line] of lines) if (this.#lines.get(uid) !== line) this.#printed.push(line);
    for (const uid of this.#lines.keys()) if (!lines.has(uid)) this.#printed.push(`${uid}: forgotten`);
    this.#lines = lines;
  }

  #line(uid: string): string {
    const { workers, steps } = this.#bench;
    const state = workers.stateOf(uid);
    if (!state) return `${uid}: unknown`;
    const step = steps.get(uid);
    const ending = state.phase === 'sync' ? undefined : state;
    const { started } = workers.staticPods;
    const facts = [
      state.startedAt === undefined ? 'not started' : '',
      ending?.gracePeriodSeconds ? `grace ${ending.gracePeriodSeconds} s` : '',
      ending?.deleted ? 'deleted' : '',
      ending?.evicted ? 'evicted' : '',
      ending?.restartRequested ? 'restart requested' : '',
      [...started].some(([name, holder]) => holder === uid && name === state.fullName)
        ? `holds ${state.fullName}`
        : '',
      step ? `in ${step.method}${step.signal.aborted ? ' (cancelled)' : ''}` : '',
      state.pending ? `${state.pending.type} waits` : '',
      workers.hasToken(uid) ? 'turn due' : '',
    ];
    return `${uid}: ${[state.phase, ...facts.filter(Boolean)].join(', ')}`;
  }
}
