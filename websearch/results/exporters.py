"""Scrapy feed exporters for responses: `scrapy crawl NAME -a query=… -O out.json|jsonl|csv|txt`."""

from __future__ import annotations

import csv
import io
from typing import IO, Any

from scrapy.exporters import BaseItemExporter, JsonItemExporter, JsonLinesItemExporter

from websearch.model import SearchResponse, to_dict
from websearch.results.formats import COLUMNS, as_text, csv_rows


def _plain(item: Any) -> Any:
    return to_dict(item) if isinstance(item, SearchResponse) else item


class ResponseJsonExporter(JsonItemExporter):
    """A JSON array, one response an element, in the shape of `--format json`."""

    def export_item(self, item: Any) -> None:
        """Write one response."""
        super().export_item(_plain(item))


class ResponseJsonLinesExporter(JsonLinesItemExporter):
    """JSON lines, one response a line."""

    def export_item(self, item: Any) -> None:
        """Write one response."""
        super().export_item(_plain(item))


class _TextFile(BaseItemExporter):
    """What writes text to the binary file of a feed."""

    def __init__(self, file: IO[bytes], **kwargs: Any) -> None:
        super().__init__(dont_fail=True, **kwargs)
        # `newline=""`: the CSV writer ends its lines itself.
        self.stream = io.TextIOWrapper(
            file,
            encoding=self.encoding or "utf-8",
            errors="replace",
            newline="",
            line_buffering=False,
            write_through=True,
        )

    def finish_exporting(self) -> None:
        """Leave the file to the feed storage."""
        self.stream.flush()
        self.stream.detach()


class ResultCsvExporter(_TextFile):
    """CSV, a row per result, columns as in `websearch.results.formats.COLUMNS`. `safe=False` leaves formulas alone."""

    def __init__(self, file: IO[bytes], *, safe: bool = True, include_headers_line: bool = True, **kwargs: Any) -> None:
        kwargs.pop("join_multivalued", None)
        super().__init__(file, **kwargs)
        self.safe, self.header = safe, include_headers_line
        self.writer = csv.writer(self.stream)

    def start_exporting(self) -> None:
        """Write the header, unless this run appends to a file that has one."""
        if self.header and not (self.stream.seekable() and self.stream.tell()):
            self.writer.writerow(COLUMNS)

    def export_item(self, item: Any) -> None:
        """Write the rows of one response."""
        if isinstance(item, SearchResponse):
            self.writer.writerows(csv_rows(item, safe=self.safe))


class TextExporter(_TextFile):
    """The text form of facts §1.6, responses apart by a blank line."""

    def export_item(self, item: Any) -> None:
        """Write one response, or its error."""
        if isinstance(item, SearchResponse):
            text = as_text(item) or (f"Error: {item.error.message}" if item.error else f"No results ({item.outcome}).")
            self.stream.write(f"{text}\n\n")
