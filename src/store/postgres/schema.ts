import type { AuditDatabase } from '../audit/tables.ts';
import type { BackgroundDatabase } from '../background/tables.ts';
import type { ChatDatabase } from '../chats/tables.ts';
import type { ExtensionDatabase } from '../extensions/tables.ts';
import type { ImportDatabase } from '../imports/tables.ts';
import type { KennelDatabase } from '../kennel/tables.ts';
import type { MemoryDatabase } from '../memories/tables.ts';
import type { PayloadDatabase } from '../payloads/tables.ts';
import type { RoutineDatabase } from '../routines/tables.ts';
import type { TurnDatabase } from '../turns/tables.ts';
import type { WhatsAppDatabase } from '../whatsapp/tables.ts';

/** Every table with the type of its rows; the migrations make the tables themselves. */
export interface Database
  extends ChatDatabase,
    TurnDatabase,
    RoutineDatabase,
    BackgroundDatabase,
    KennelDatabase,
    MemoryDatabase,
    PayloadDatabase,
    WhatsAppDatabase,
    ImportDatabase,
    ExtensionDatabase,
    AuditDatabase {}
