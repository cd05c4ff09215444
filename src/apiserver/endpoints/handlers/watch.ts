import type { Clock } from '../../../base/clock.ts';
import { messageOf } from '../../../base/errors.ts';
import { emptyStruct } from '../../../apimachinery/serializer/codec.ts';
import type { JsonObject } from '../../../apimachinery/json.ts';
import { groupVersionOf } from '../../../apimachinery/kinds.ts';
import { type ListOptions, parseVersion, type Selection } from '../list-options.ts';
import { writeProtobufEvent } from '../../../apimachinery/serializer/protobuf-writer.ts';
import { encode } from '../respond.ts';
import { StatusError, expired, internalError, tooLargeVersion } from '../../../apimachinery/status-error.ts';
import type { Change, Entry, Store } from '../../storage/store.ts';
import { entryText, type View, viewOne } from '../views.ts';
import type { WatchOutlet } from './watch-outlet.ts';

/** Parameters of a watch. */
export interface WatchRequest {
  readonly selection: Selection;
  readonly options: ListOptions;
  readonly view: View;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: { float(): number };
  /** Ends every watch when the server stops. */
  readonly stopping: AbortSignal;
  /** Counts an event by its size. */
  readonly sent: (size: number) => void;
  /** Ends the watch, after the changes that are written already, when the definition of its kind changes. */
  readonly replacement: AbortSignal | undefined;
}

const initialEventsDone = 'k8s.io/initial-events-end';
const bookmarkEveryMs = 60_000;
/** How long before its end a watch receives its last bookmark. */
const lastBookmarkSeconds = 2;
/** A reader with this many waiting bytes is disconnected. */
const backlogMost = 64 * 1024 * 1024;

/** Bytes of a change that several watches send alike. */
const shared = new WeakMap<Change, Map<string, Buffer>>();

function sharedBytes(change: Change, key: string, make: () => string | Buffer): Buffer {
  let texts = shared.get(change);
  if (!texts) {
    texts = new Map();
    shared.set(change, texts);
  }
  let text = texts.get(key);
  if (text === undefined) {
    const content = make();
    text = typeof content === 'string' ? Buffer.from(content) : content;
    texts.set(key, text);
  }
  return text;
}

/** Watch is one watch connection: initial state, the changes since a version, then every change as it is committed. */
export class Watch {
  readonly #request: WatchRequest;
  readonly #outlet: WatchOutlet;
  readonly #ends: (() => void)[] = [];
  #columnsSent = false;
  #lastVersion = 0;
  /** The version that the client started from or was sent first. */
  #firstVersion = 0;
  #closed = false;
  /** Number of conversions that are not done. */
  #converting = 0;
  /** Ends when everything that is being converted has been sent. */
  #conversions: Promise<void> = Promise.resolve();

  constructor(request: WatchRequest, outlet: WatchOutlet) {
    this.#request = request;
    this.#outlet = outlet;
  }

  /** Sends changes until the client disconnects, the timeout ends or the server stops. */
  run(): void {
    this.#outlet.onClose(() => {
      this.#end();
    });
    const stop = (): void => {
      this.#close();
    };
    this.#request.stopping.addEventListener('abort', stop, { once: true });
    this.#ends.push(() => {
      this.#request.stopping.removeEventListener('abort', stop);
    });
    const timeout = this.#request.options.timeoutSeconds;
    if (timeout !== undefined && timeout < 0) {
      this.#fail(new StatusError(500, 'InternalError', 'context deadline exceeded'));
      return;
    }
    this.#start();
    this.#followDefinition();
  }

  #followDefinition(): void {
    const { replacement, store } = this.#request;
    if (!replacement || this.#closed) return;
    const finish = (): void => {
      this.#later(
        () => store.settled(),
        () => {
          this.#close();
        },
      );
    };
    if (replacement.aborted) finish();
    replacement.addEventListener('abort', finish, { once: true });
    this.#ends.push(() => {
      replacement.removeEventListener('abort', finish);
    });
  }

  #start(): void {
    const { store, selection, options } = this.#request;
    const from = parseVersion(options.resourceVersion);
    const initial = options.sendInitialEvents ?? from === 0;
    const error = this.#impossible(from, initial);
    if (error) {
      this.#fail(error);
      return;
    }
    this.#ends.push(
      store.onChange((storage, changes) => {
        if (storage === selection.storage) this.#take(changes);
      }),
    );
    this.#lastVersion = initial || from === 0 ? store.version : from;
    this.#firstVersion = this.#lastVersion;
    const first = (): void => {
      if (initial) this.#initial();
    };
    const { conversion } = this.#request.view.strategy;
    if (initial && conversion) this.#later(() => conversion.load(() => this.#standing()), first);
    else first();
    if (!initial && from > 0) this.#take(store.changesSince(selection.storage, from) ?? []);
    this.#schedule();
  }

  #standing(): readonly JsonObject[] {
    const { store, selection } = this.#request;
    return [...store.list(selection.storage, selection.prefix)].map(({ object }) => object);
  }

  /** Sends changes, in their order: after they are converted, where that takes a webhook. */
  #take(changes: readonly Change[]): void {
    const { conversion } = this.#request.view.strategy;
    for (const change of changes)
      if (conversion) {
        const { entry, before } = change;
        const objects = before ? [entry.object, before.object] : [entry.object];
        this.#later(
          () => conversion.load(() => objects),
          () => {
            this.#change(change);
          },
        );
      } else this.#change(change);
  }

  /** Acts once a conversion or another promise is done, after everything that waits already; a failure ends the watch. */
  #later(convert: () => Promise<void>, act: () => void): void {
    this.#converting++;
    this.#conversions = this.#conversions.then(async () => {
      if (this.#closed) return;
      try {
        await convert();
        this.#converting--;
        act();
      } catch (reason) {
        this.#fail(reason instanceof StatusError ? reason : internalError(messageOf(reason)));
      }
    });
  }

  /** Returns why a watch cannot start at a version (A9). */
  #impossible(from: number, initial: boolean): StatusError | undefined {
    const { store, selection, options } = this.#request;
    if (options.sendInitialEvents && from > store.version) return tooLargeVersion(from, store.version);
    const gone = !initial && from > 0 && store.changesSince(selection.storage, from) === undefined;
    return gone ? expired(`too old resource version: ${from} (${store.version})`) : undefined;
  }

  #initial(): void {
    const { store, selection, options } = this.#request;
    const version = store.version;
    for (const entry of store.list(selection.storage, selection.prefix))
      if (selection.matches(entry.object)) this.#send('ADDED', entry);
    this.#lastVersion = version;
    const whole = options.sendInitialEvents ?? options.resourceVersion === '';
    if (whole && options.bookmarks) this.#bookmark({ [initialEventsDone]: 'true' });
  }

  #schedule(): void {
    const { clock, options, random } = this.#request;
    const timeout = options.timeoutSeconds ?? 0;
    const seconds = timeout > 0 ? timeout : 1800 + Math.floor(random.float() * 1800);
    this.#ends.push(
      clock.timer(seconds * 1000, () => {
        this.#close();
      }),
    );
    if (!options.bookmarks) return;
    this.#nextBookmark();
    if (seconds >= lastBookmarkSeconds)
      this.#ends.push(
        clock.timer((seconds - lastBookmarkSeconds) * 1000, () => {
          this.#bookmark();
        }),
      );
  }

  #nextBookmark(): void {
    const { clock, random } = this.#request;
    const stop = clock.timer(bookmarkEveryMs * (0.9 + random.float() * 0.2), () => {
      this.#bookmark();
      this.#nextBookmark();
    });
    this.#ends.push(stop);
  }

  /** Sends a change as the selection sees it: an object may enter or leave the selection. */
  #change(change: Change): void {
    if (change.version <= this.#lastVersion || this.#closed) return;
    this.#lastVersion = change.version;
    const { selection } = this.#request;
    if (!change.entry.key.startsWith(selection.prefix)) return;
    const was = change.before !== undefined && selection.matches(change.before.object);
    const is = change.type !== 'DELETED' && selection.matches(change.entry.object);
    if (is) this.#send(was ? 'MODIFIED' : 'ADDED', change.entry, change);
    else if (was) this.#send('DELETED', this.#gone(change), change.type === 'DELETED' ? change : undefined);
  }

  /** Returns the last selected state of an object that left the selection, with the version of the change. */
  #gone(change: Change): Entry {
    if (change.type === 'DELETED' || !change.before) return change.entry;
    const object = { ...change.before.object };
    const metadata = { ...(object['metadata'] as JsonObject), resourceVersion: String(change.version) };
    const moved = { ...object, metadata };
    return { ...change.before, version: change.version, object: moved, json: JSON.stringify(moved) };
  }

  #send(type: 'ADDED' | 'MODIFIED' | 'DELETED', entry: Entry, change?: Change): void {
    const { view, clock } = this.#request;
    const kind = view.strategy.kind;
    const special = viewOne(entry.object, view, clock.now(), !this.#columnsSent);
    if (special) {
      this.#columnsSent = true;
      this.#event(type, special);
      return;
    }
    if (view.representation.format === 'protobuf') {
      const served = view.strategy.fromStorage?.(entry.object) ?? entry.object;
      const object = { kind: kind.kind, apiVersion: groupVersionOf(kind), ...served };
      const make = (): Buffer => writeProtobufEvent(type, object);
      this.#write(change ? sharedBytes(change, `pb ${type} ${kind.group}/${kind.version}`, make) : make());
      return;
    }
    const make = (): string => `{"type":"${type}","object":${entryText(entry, view.strategy, true)}}\n`;
    this.#write(change ? sharedBytes(change, `${type} ${kind.group}/${kind.version}`, make) : make());
  }

  /** Sends the current version; without annotations only if it is new. */
  #bookmark(annotations?: JsonObject): void {
    const { view, store } = this.#request;
    const kind = view.strategy.kind;
    if (!store.busy && this.#converting === 0) this.#lastVersion = Math.max(this.#lastVersion, store.version);
    if (!annotations && this.#lastVersion <= this.#firstVersion) return;
    const metadata = { resourceVersion: String(this.#lastVersion), ...(annotations && { annotations }) };
    const bare = { ...emptyStruct(kind.type), kind: kind.kind, apiVersion: groupVersionOf(kind), metadata };
    const empty = { apiVersion: groupVersionOf(kind), metadata };
    const special = viewOne(empty, view, 0, !this.#columnsSent);
    this.#event('BOOKMARK', special ?? bare);
  }

  #fail(error: StatusError): void {
    this.#event('ERROR', error.body);
    this.#close();
  }

  #event(type: string, object: JsonObject): void {
    const { representation } = this.#request.view;
    if (representation.format === 'protobuf') this.#write(writeProtobufEvent(type, object));
    else this.#write(encode({ type, object }, { ...representation, pretty: false }));
  }

  #write(text: string | Buffer): void {
    if (this.#closed) return;
    this.#outlet.write(text);
    this.#request.sent(text.length);
    if (this.#outlet.waiting > backlogMost) {
      this.#end();
      this.#outlet.destroy();
    }
  }

  #close(): void {
    if (this.#closed) return;
    this.#end();
    this.#outlet.end();
  }

  #end(): void {
    this.#closed = true;
    for (const end of this.#ends.splice(0)) end();
  }
}
