"""Parts of convert-tensor-to-loop: functions and buffers, nests, scans."""
