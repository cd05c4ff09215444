import type { ApiConnection } from '../api/rest/connection.ts';
import type { AuditEvent, TestApiServer } from '../apiserver/index.ts';

/** A user to create. */
export interface TestUser {
  readonly name: string;
  readonly groups?: readonly string[];
}

/** What an environment runs on. */
export interface ControlPlane {
  /** The administrator's. */
  readonly connection: ApiConnection;
  addUser(user: TestUser): ApiConnection;
  audit(): readonly AuditEvent[];
  stop(): Promise<void>;
  /** The server, if it runs in this process. */
  readonly server?: TestApiServer;
}
