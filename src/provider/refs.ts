/** One container of one pod; `id` is `type://id`. */
export interface ContainerRef {
  readonly podUid: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly id: string;
}

/** Names one pod: by UID, with the names that people read. */
export interface PodRef {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}
